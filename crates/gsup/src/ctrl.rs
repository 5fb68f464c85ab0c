//! CTRL, the control interface of Osmocom's programs, over the same IPA frames: variables are read by
//! name, and answers carry the number of their request.
//!
//! Used by the IMSI look-up, which reads `subscriber.by-msisdn-N.imsi` of an OsmoHLR. The reference is
//! the manual of OsmoHLR, "Osmocom Control Interface"; HLRs before 1.8 know only `.info`, in which the
//! IMSI is one of several lines. Nothing here trusts a peer: what is no answer is `None`.

use std::fmt::Write as _;

use bytes::BytesMut;

use crate::ipa::{FrameTooLong, OSMO, write_frame};

/// The extension of [`OSMO`] that is CTRL.
pub const CTRL: u8 = 0x00;

/// What an HLR answers when there is no such subscriber.
const NO_SUBSCRIBER: &str = "No such subscriber";
/// What it answers for a variable that it does not have.
const NO_VARIABLE: &str = "Command not found";

/// An answer to GET.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CtrlReply<'a> {
    /// The variable has this value.
    Value {
        /// The number of the request.
        id: u32,
        /// Which variable it is.
        variable: &'a str,
        /// Its value; several lines for some variables.
        value: &'a str,
    },
    /// It cannot be read.
    Error {
        /// The number of the request; `None` if the peer could not read one.
        id: Option<u32>,
        /// Why, in the words of the peer.
        reason: &'a str,
    },
}

/// Why a variable cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CtrlRefusal {
    /// No subscriber has the number that the variable names.
    NoSubscriber,
    /// This program does not have the variable.
    NoVariable,
    /// Anything else.
    Other,
}

/// How an HLR is asked for the IMSI of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImsiVariable {
    /// The IMSI alone: OsmoHLR 1.8 and later.
    Imsi,
    /// All about the subscriber: any OsmoHLR.
    Info,
}

/// Appends `GET id variable`.
///
/// # Errors
/// [`FrameTooLong`] when the name is longer than a frame; `out` is left as it is.
pub fn write_get(id: u32, variable: &str, out: &mut BytesMut) -> Result<(), FrameTooLong> {
    let mut text = String::with_capacity(variable.len() + 16);
    // Writing to a String cannot fail.
    let _ = write!(text, "GET {id} {variable}");
    write_frame(OSMO, &[&[CTRL], text.as_bytes()], out)
}

/// Reads an answer to GET from the payload of a frame; `None` for anything else, such as a TRAP.
pub fn read(stream: u8, payload: &[u8]) -> Option<CtrlReply<'_>> {
    let (CTRL, text) = payload.split_first().map(|(first, rest)| (*first, rest))? else {
        return None;
    };
    let text = std::str::from_utf8(text).ok().filter(|_| stream == OSMO)?;
    // Some programs end the text with a NUL.
    let text = text.trim_end_matches('\0');
    let (verb, rest) = text.split_once(' ')?;
    let (id, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    match verb {
        "GET_REPLY" => {
            let at = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let (variable, value) = rest.split_at(at);
            Some(CtrlReply::Value {
                id: id.parse().ok()?,
                variable,
                value: value.strip_prefix(' ').unwrap_or(value),
            })
        }
        "ERROR" => Some(CtrlReply::Error {
            id: id.parse().ok(),
            reason: rest,
        }),
        _ => None,
    }
}

/// What the reason of an error means.
pub fn refused(reason: &str) -> CtrlRefusal {
    match reason {
        _ if reason.starts_with(NO_SUBSCRIBER) => CtrlRefusal::NoSubscriber,
        _ if reason.starts_with(NO_VARIABLE) => CtrlRefusal::NoVariable,
        _ => CtrlRefusal::Other,
    }
}

// === impl ImsiVariable ===

impl ImsiVariable {
    /// The name of the variable for a number, which is digits without a plus: an HLR takes nothing else
    /// in a name.
    pub fn name(self, msisdn: &str) -> String {
        let field = match self {
            Self::Imsi => "imsi",
            Self::Info => "info",
        };
        format!("subscriber.by-msisdn-{msisdn}.{field}")
    }

    /// The IMSI in the value of the variable.
    pub fn imsi(self, value: &str) -> Option<&str> {
        match self {
            Self::Imsi => Some(value.trim()).filter(|imsi| !imsi.is_empty()),
            Self::Info => value.lines().find_map(|line| {
                let (name, value) = line.split_once('\t')?;
                (name == "imsi").then_some(value.trim())
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hex::octets;
    use crate::ipa::{FRAME_MAX, next_frame};

    const NUMBER: &str = "49160001";

    #[test]
    fn a_request_is_written_as_osmo_hlr_reads_it() {
        let mut out = BytesMut::new();
        write_get(3, &ImsiVariable::Imsi.name(NUMBER), &mut out).unwrap();
        let expected = octets(
            "0029 EE 00 474554203320737562736372696265722E62792D6D736973646E2D34393136303030312E696D7369",
        );
        assert_eq!(out[..], expected);
        let long = "a".repeat(FRAME_MAX);
        assert!(write_get(4, &long, &mut out).is_err());
        assert_eq!(out[..], expected, "nothing is added");
    }

    /// The answers of OsmoHLR 1.9.0 and 1.5.0.
    #[test]
    fn answers_are_read() {
        let read = |text: &str| {
            let payload = [&[CTRL], text.as_bytes()].concat();
            match super::read(OSMO, &payload) {
                Some(CtrlReply::Value {
                    id,
                    variable,
                    value,
                }) => format!("{id} {variable} = {value:?}"),
                Some(CtrlReply::Error { id, reason }) => format!("{id:?} {:?}", refused(reason)),
                None => "nothing".to_owned(),
            }
        };
        for (text, expected) in [
            (
                "GET_REPLY 3 subscriber.by-msisdn-49160001.imsi 001010000000001",
                "3 subscriber.by-msisdn-49160001.imsi = \"001010000000001\"",
            ),
            (
                "GET_REPLY 4 subscriber.by-msisdn-1.info \nid\t1\nimsi\t00101",
                "4 subscriber.by-msisdn-1.info = \"\\nid\\t1\\nimsi\\t00101\"",
            ),
            ("GET_REPLY 5 name\0", "5 name = \"\""),
            ("ERROR 5 No such subscriber.", "Some(5) NoSubscriber"),
            ("ERROR 6 Command not found", "Some(6) NoVariable"),
            (
                "ERROR 6 GET variable contains invalid characters",
                "Some(6) Other",
            ),
            ("ERROR err Request type unknown", "None Other"),
            ("TRAP 0 something 1", "nothing"),
            ("GET_REPLY x name value", "nothing"),
            ("GET_REPLY", "nothing"),
            ("", "nothing"),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
        assert_eq!(super::read(OSMO, &[]), None);
        assert_eq!(
            super::read(OSMO, b"\x05ERROR 1 x"),
            None,
            "another protocol"
        );
        assert_eq!(super::read(0xFE, b"\x00ERROR 1 x"), None, "another stream");
    }

    #[test]
    fn the_imsi_is_found_in_both_variables() {
        assert_eq!(
            ImsiVariable::Info.name(NUMBER),
            "subscriber.by-msisdn-49160001.info"
        );
        let info = "\nid\t1\nimsi\t001010000000001\nmsisdn\t49160001\nnam_cs\t1\n";
        assert_eq!(ImsiVariable::Info.imsi(info), Some("001010000000001"));
        assert_eq!(ImsiVariable::Info.imsi("\nid\t1\n"), None);
        assert_eq!(ImsiVariable::Imsi.imsi(" 00101 "), Some("00101"));
        assert_eq!(ImsiVariable::Imsi.imsi(""), None);
    }

    proptest! {
        #[test]
        fn no_octets_confuse_the_reader(stream: u8, payload: Vec<u8>) {
            let _ = read(stream, &payload);
        }

        #[test]
        fn requests_come_back_from_their_frames(id: u32, variable in "[a-z0-9.-]{1,60}") {
            let mut out = BytesMut::new();
            write_get(id, &variable, &mut out).unwrap();
            let frame = next_frame(&mut out, FRAME_MAX).unwrap().unwrap();
            prop_assert_eq!(frame.stream, OSMO);
            let expected = format!("GET {id} {variable}");
            prop_assert_eq!(&frame.payload[1..], expected.as_bytes());
            prop_assert!(out.is_empty());
        }
    }
}
