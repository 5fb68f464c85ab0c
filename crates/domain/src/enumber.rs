//! ENUM: numbers in the domain name system (RFC 6116), and what its records say about number portability
//! (RFC 4769): pure.
//!
//! Used by the resolver of networks. A record (NAPTR, RFC 3403) turns the number into a URI by a regular
//! expression; a parameter of the URI names the network: `rn`, the routing number of RFC 4694, unless
//! another one is configured. Nothing that a server sends makes this panic.

use regex::bytes::RegexBuilder;

use super::address;

/// Octets of the longest expression in a record: DNS has 255 for a character string.
const MAX_EXPRESSION: usize = 255;
/// Memory that a compiled expression may take.
const COMPILED: usize = 64 * 1024;

/// The name that is asked for: the digits backwards, each a label, below the zone (RFC 6116 §3.2). `None`
/// for what is no number.
pub fn domain(number: &[u8], zone: &str) -> Option<String> {
    let digits = address::normalise(number);
    if !address::is_digits(digits) {
        return None;
    }
    let mut name = String::with_capacity(digits.len() * 2 + zone.len() + 1);
    for digit in digits.iter().rev() {
        name.push(char::from(*digit));
        name.push('.');
    }
    name.push_str(zone.trim_matches('.'));
    name.push('.');
    Some(name)
}

/// Whether a record is one about number portability: it ends in a URI, and its services are `E2U+pstn…`
/// (RFC 6116 §3.4.3, RFC 4769 §5).
pub fn is_portability(flags: &[u8], services: &[u8]) -> bool {
    let services = services.to_ascii_lowercase();
    let mut parts = services.split(|octet| *octet == b'+');
    flags.eq_ignore_ascii_case(b"u")
        && parts.next() == Some(b"e2u".as_slice())
        && parts.any(|service| service == b"pstn" || service.starts_with(b"pstn:"))
}

/// The URI that the expression of a record, `!expression!replacement!flags`, makes of a number (RFC 3402
/// §3.2). `None` when it does not match or is none.
pub fn uri(expression: &[u8], number: &[u8]) -> Option<String> {
    let (delimiter, rest) = expression.split_first()?;
    if expression.len() > MAX_EXPRESSION {
        return None;
    }
    let mut fields: Vec<Vec<u8>> = vec![Vec::new()];
    let mut octets = rest.iter().copied();
    while let Some(octet) = octets.next() {
        let last = fields.last_mut()?;
        match octet {
            _ if octet == *delimiter => fields.push(Vec::new()),
            b'\\' => match octets.next()? {
                escaped if escaped == *delimiter => last.push(escaped),
                escaped => last.extend([b'\\', escaped]),
            },
            _ => last.push(octet),
        }
    }
    let [pattern, replacement, flags] = fields.as_slice() else {
        return None;
    };
    let pattern = RegexBuilder::new(std::str::from_utf8(pattern).ok()?)
        .case_insensitive(flags.eq_ignore_ascii_case(b"i"))
        .size_limit(COMPILED)
        .build()
        .ok()?;
    let number = [b"+", address::normalise(number)].concat();
    let found = pattern.captures(&number)?;
    let mut uri = Vec::new();
    let mut octets = replacement.iter().copied();
    while let Some(octet) = octets.next() {
        match (octet, octet == b'\\') {
            (_, true) => match octets.next()? {
                digit @ b'1'..=b'9' => {
                    let group = found.get(usize::from(digit - b'0'));
                    uri.extend_from_slice(group.map_or(b"", |group| group.as_bytes()));
                }
                other => uri.push(other),
            },
            (octet, false) => uri.push(octet),
        }
    }
    String::from_utf8(uri).ok()
}

/// The value of a parameter of a `tel:` or `sip:` URI (RFC 3966 §3), a number without its plus and its visual
/// separators.
pub fn parameter(uri: &str, name: &str) -> Option<String> {
    // The parameters of a number in a sip URI stand before its host.
    let user = uri.split('@').next()?;
    let value = user.split(';').skip(1).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        key.eq_ignore_ascii_case(name).then_some(value)
    })?;
    let bare: String = value
        .trim_start_matches('+')
        .chars()
        .filter(|sign| !"-.()".contains(*sign))
        .collect();
    if address::is_digits(bare.as_bytes()) {
        Some(bare)
    } else {
        Some(value.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_is_a_name_backwards() {
        // RFC 6116 §3.2.
        let name = domain(b"+442079460148", "e164.arpa").unwrap();
        assert_eq!(name, "8.4.1.0.6.4.9.7.0.2.4.4.e164.arpa.");
        assert_eq!(domain(b"44", ".mnp.example.").unwrap(), "4.4.mnp.example.");
        assert_eq!(domain(b"ACME", "e164.arpa"), None);
        assert_eq!(domain(b"", "e164.arpa"), None);
    }

    #[test]
    fn only_records_about_portability_count() {
        for (flags, services, expected) in [
            ("u", "E2U+pstn:tel", true),
            ("U", "e2u+PSTN:sip", true),
            ("u", "E2U+sip+pstn:tel", true),
            ("u", "E2U+pstn", true),
            ("", "E2U+pstn:tel", false),
            ("u", "E2U+sip", false),
            ("u", "pstn:tel", false),
            ("u", "E2U+pstnx", false),
        ] {
            let found = is_portability(flags.as_bytes(), services.as_bytes());
            assert_eq!(found, expected, "{flags} {services}");
        }
    }

    #[test]
    fn expressions_make_uris() {
        for (expression, expected) in [
            // RFC 4769 §6.
            (
                "!^.*$!tel:+1-215-555-0123;npdi;rn=+1-215-555-0199!",
                Some("tel:+1-215-555-0123;npdi;rn=+1-215-555-0199"),
            ),
            (
                r"!^\+44(.*)$!tel:+44\1;npdi!",
                Some("tel:+447700900123;npdi"),
            ),
            (r"/^(\+44)(7)/tel:\2\1\3\/x/i", Some("tel:7+44/x")),
            ("!^\\+33!tel:x!", None),
            ("!^.*$!tel:x", None),
            ("!(!tel:x!", None),
            ("!^.*$!tel:\\!", None),
            ("!", None),
            ("", None),
        ] {
            let found = uri(expression.as_bytes(), b"447700900123");
            assert_eq!(found.as_deref(), expected, "{expression}");
        }
        let long = format!("!{}!x!", "a".repeat(300));
        assert_eq!(uri(long.as_bytes(), b"44"), None);
    }

    #[test]
    fn the_parameter_of_a_uri_is_the_network() {
        let uri = "tel:+1-215-555-0123;npdi;RN=+1-215-555-0199;spn=acme";
        assert_eq!(parameter(uri, "rn").as_deref(), Some("12155550199"));
        assert_eq!(parameter(uri, "spn").as_deref(), Some("acme"));
        assert_eq!(parameter(uri, "npdi"), None);
        assert_eq!(parameter("tel:+1;npdi", "rn"), None);
        let sip = "sip:+1215;npdi;rn=+1216@gw.example;user=phone";
        assert_eq!(parameter(sip, "rn").as_deref(), Some("1216"));
        assert_eq!(parameter(sip, "user"), None);
    }

    proptest! {
        #[test]
        fn no_record_confuses_it(expression: Vec<u8>, flags: Vec<u8>, services: Vec<u8>, text: String) {
            let _ = uri(&expression, b"447700900123");
            let _ = is_portability(&flags, &services);
            let _ = parameter(&text, "rn");
        }
    }
}
