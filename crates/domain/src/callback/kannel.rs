//! The escapes of Kannel in a `dlr-url` or the `get-url` of an sms-service, and how they are filled in.
//!
//! Kannel 1.4.5, user guide, "Parameters (Escape Codes)", and `gw/urltrans.c` where the guide is silent. What an
//! escape stands for is a value or nothing; one that Kannel does not know stays as it is.

use std::fmt::Write as _;

use jiff::Timestamp;

use crate::state;

/// Bits of a dlr-mask: the handset has it, or never will; it waits here; the operator has it, or refuses it.
pub const DELIVERED: u8 = 1;
pub const FAILED: u8 = 2;
pub const BUFFERED: u8 = 4;
pub const SENT: u8 = 8;
pub const REJECTED: u8 = 16;

/// Octets that are left as they are; a blank is a plus sign, all others are written with a percent sign.
const SAFE: &[u8] = b"-_.!~*'()";
/// Stands for a number that is not known.
const UNDEFINED: i32 = -1;

/// What the escapes stand for.
#[derive(Debug, Clone, Default)]
pub struct EscapeValues<'a> {
    /// `%p`, `%q`: who wrote the message; in a report, whom the message was for.
    pub from: &'a [u8],
    /// `%P`, `%Q`: to whom it is; in a report, the sender of the message.
    pub to: &'a [u8],
    /// `%a`, `%b`, `%k`, `%s`, `%S`, `%r`: the text without its header; in a report, what the operator said (`%A`).
    pub octets: &'a [u8],
    /// `%t`, `%T`: Unix seconds.
    pub at: i64,
    /// `%I`, `%F`.
    pub id: &'a str,
    /// `%i`.
    pub operator: &'a str,
    /// `%n`.
    pub account: &'a str,
    /// `%o`: the reference of the submission.
    pub reference: &'a str,
    /// `%B`.
    pub service_type: &'a [u8],
    /// `%d`: what is reported.
    pub mask: Option<u8>,
    /// `%c`: 0 for 7 bits, 1 for data, 2 for UCS-2.
    pub coding: u8,
    /// `%O`.
    pub data_coding: u8,
    /// `%m`.
    pub class: Option<u8>,
    /// `%u`: the user data header.
    pub header: &'a [u8],
    /// `%R`: the URL itself.
    pub url: &'a str,
}

/// The URL with values in the place of its escapes.
pub fn fill(pattern: &str, values: &EscapeValues<'_>) -> String {
    let mut out = String::with_capacity(pattern.len() + values.octets.len());
    let words = words(values.octets);
    let mut next = 1;
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let mut characters = after.chars();
        let Some(code) = characters.next() else {
            out.push('%');
            return out;
        };
        rest = characters.as_str();
        match code {
            // A parameter of meta-data, which messages do not have here: `%#group#name#`.
            '#' => rest = behind_names(rest),
            's' | 'S' => {
                if let Some(word) = words.get(next) {
                    next += 1;
                    match code {
                        's' => encode(word, &mut out),
                        _ => as_it_is(word, &mut out),
                    }
                }
            }
            'r' => join(words.get(next..).unwrap_or_default(), &mut out),
            'a' => join(&words, &mut out),
            'k' => encode(words.first().copied().unwrap_or_default(), &mut out),
            '%' => out.push('%'),
            _ if !values.write(code, &mut out) => {
                out.push('%');
                out.push(code);
            }
            _ => {}
        }
    }
    out.push_str(rest);
    out
}

/// What of a mask a final state is reported as; `None` if the mask does not want it. A rejection that is not asked for
/// as such is a failure.
pub fn reported(mask: u8, state: u8) -> Option<u8> {
    let bit = match state {
        state::DELIVERED => DELIVERED,
        state::ACCEPTED => SENT,
        state::REJECTED if mask & REJECTED != 0 => REJECTED,
        _ => FAILED,
    };
    (mask & bit != 0).then_some(bit)
}

/// The URL with values that could be, to see whether it is one.
pub fn example(pattern: &str) -> String {
    fill(pattern, &EscapeValues::default())
}

/// Writes octets as part of a query.
pub fn encode(octets: &[u8], out: &mut String) {
    for octet in octets {
        match octet {
            b' ' => out.push('+'),
            octet if octet.is_ascii_alphanumeric() || SAFE.contains(octet) => {
                out.push(char::from(*octet));
            }
            // A String takes everything.
            octet => drop(write!(out, "%{octet:02X}")),
        }
    }
}

/// Writes a word with its URL's characters as they are, and a tilde in the place of a star. Kannel leaves all others,
/// too; a URL with them could not be called.
fn as_it_is(word: &[u8], out: &mut String) {
    for octet in word {
        match octet {
            b'*' => out.push('~'),
            b'!' | b'$'..=b'/' | b':' | b';' | b'=' | b'?' | b'@' | b'~' | b'_' => {
                out.push(char::from(*octet));
            }
            octet => encode(&[*octet], out),
        }
    }
}

fn words(octets: &[u8]) -> Vec<&[u8]> {
    let words = octets.split(u8::is_ascii_whitespace);
    words.filter(|word| !word.is_empty()).collect()
}

fn join(words: &[&[u8]], out: &mut String) {
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            out.push('+');
        }
        encode(word, out);
    }
}

/// What follows `group#name#`.
fn behind_names(rest: &str) -> &str {
    rest.splitn(3, '#').nth(2).unwrap_or_default()
}

// === impl EscapeValues ===

impl EscapeValues<'_> {
    /// Writes what an escape of one letter stands for; false for one that there is not.
    fn write(&self, code: char, out: &mut String) -> bool {
        let number = |number: Option<u8>| number.map_or(UNDEFINED, i32::from).to_string();
        match code {
            'A' | 'b' => encode(self.octets, out),
            'B' => encode(self.service_type, out),
            'c' => out.push_str(&self.coding.to_string()),
            'C' => out.push_str(match self.coding {
                0 => "UTF-8",
                1 => "8-BIT",
                _ => "UTF-16BE",
            }),
            'd' => out.push_str(&number(self.mask)),
            'F' | 'I' => encode(self.id.as_bytes(), out),
            'i' => encode(self.operator.as_bytes(), out),
            'm' => out.push_str(&number(self.class)),
            'M' => out.push_str(&number(None)),
            'n' => encode(self.account.as_bytes(), out),
            'o' => encode(self.reference.as_bytes(), out),
            'O' => drop(write!(out, "{:02}", self.data_coding)),
            'p' => encode(self.from, out),
            'P' => encode(self.to, out),
            'q' => international(self.from, out),
            'Q' => international(self.to, out),
            'R' => encode(self.url.as_bytes(), out),
            't' => out.push_str(&written(self.at)),
            'T' => out.push_str(&self.at.to_string()),
            'u' => encode(self.header, out),
            // Meta-data, the number of the SMSC, validity and delay in minutes.
            'D' | 'f' | 'v' | 'V' => {}
            _ => return false,
        }
        true
    }
}

/// A number with a plus sign in the place of two leading zeros.
fn international(number: &[u8], out: &mut String) {
    match number.strip_prefix(b"00") {
        Some(number) => {
            out.push_str("%2B");
            encode(number, out);
        }
        None => encode(number, out),
    }
}

fn written(seconds: i64) -> String {
    let moment = Timestamp::from_second(seconds).unwrap_or_default();
    moment.strftime("%Y-%m-%d+%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values<'a>() -> EscapeValues<'a> {
        EscapeValues {
            from: b"00447700900123",
            to: b"12345",
            octets: b"NOP  foo+bar *x*",
            at: 1_700_000_000,
            id: "77",
            operator: "up",
            account: "acme",
            mask: Some(1),
            ..EscapeValues::default()
        }
    }

    #[test]
    fn the_examples_of_the_user_guide() {
        // "Setting up sms-service groups" and "Delivery reports".
        for (pattern, expected) in [
            (
                "http://host/service?sender=%p&text=%r",
                "http://host/service?sender=00447700900123&text=foo%2Bbar+*x*",
            ),
            (
                "http://localhost:13015/cgi-bin/dlr?myid=123456&smsc=%i&status=%d&answer=%A",
                "http://localhost:13015/cgi-bin/dlr?myid=123456&smsc=up&status=1&answer=NOP++foo%2Bbar+*x*",
            ),
        ] {
            assert_eq!(fill(pattern, &values()), expected);
        }
    }

    #[test]
    fn a_mask_selects_states() {
        for (mask, state, expected) in [
            (3, state::DELIVERED, Some(1)),
            (3, state::EXPIRED, Some(2)),
            (3, state::REJECTED, Some(2)),
            (31, state::REJECTED, Some(16)),
            (1, state::UNDELIVERABLE, None),
            (31, state::ACCEPTED, Some(8)),
            (19, state::ACCEPTED, None),
        ] {
            assert_eq!(reported(mask, state), expected, "{mask} {state}");
        }
    }

    #[test]
    fn each_escape_stands_for_what_kannel_says() {
        for (pattern, expected) in [
            ("%a", "NOP+foo%2Bbar+*x*"),
            ("%b", "NOP++foo%2Bbar+*x*"),
            ("%k|%s|%S|%s", "NOP|foo%2Bbar|~x~|"),
            ("%s|%r", "foo%2Bbar|*x*"),
            ("%q %Q %P", "%2B447700900123 12345 12345"),
            ("%t %T", "2023-11-14+22:13:20 1700000000"),
            ("%c %C %O %m %M", "0 UTF-8 00 -1 -1"),
            ("%n %F %I", "acme 77 77"),
            ("%D%f%v%V%u%B%o.", "."),
            ("100%% %20 %z %", "100% %20 %z %"),
            ("a%#smpp#my_param#b", "ab"),
        ] {
            assert_eq!(fill(pattern, &values()), expected, "{pattern}");
        }
        let odd = EscapeValues {
            octets: "k www.a.example/?b=c&d#é".as_bytes(),
            ..values()
        };
        assert_eq!(fill("%S", &odd), "www.a.example/?b=c&d%23%C3%A9");
        let report = EscapeValues {
            mask: None,
            url: "http://a/?b",
            ..values()
        };
        assert_eq!(fill("%d %R", &report), "-1 http%3A%2F%2Fa%2F%3Fb");
    }
}
