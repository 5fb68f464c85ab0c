//! A draft of a program as the message that it makes. Pure; every error names the field and the cure.

use bytes::Bytes;

use crate::content;
use crate::content::compose::{self, ComposedBody, MAX_PRIORITY, YEAR_2100};
use crate::numbers::Numbers;
use crate::pb::local::draft::Content;
use crate::pb::local::{Alphabet, Draft};
use crate::pb::{ClientData, Message};

/// Shortest `valid_for`.
const SECOND: i64 = 1_000;

/// A message, ready to be submitted.
#[derive(Debug)]
pub(super) struct Drafted {
    pub message: Message,
    /// The alphabet in words.
    pub alphabet: &'static str,
    /// Short messages that the handset gets.
    pub parts: u32,
}

/// The message of a draft. `numbers`: how the account writes recipients.
///
/// # Errors
/// What is wrong, with its field.
pub(super) fn read(draft: Draft, now: i64, numbers: &Numbers) -> Result<Drafted, String> {
    let destination = numbers
        .read(&draft.to)
        .map_err(|wrong| format!("to {wrong}"))?;
    let source = compose::sender(&draft.from).map_err(|wrong| format!("from {wrong}"))?;
    if draft.priority > MAX_PRIORITY {
        return Err(format!(
            "priority must be 0 to {MAX_PRIORITY}, not {}",
            draft.priority
        ));
    }
    compose::check_reference(&draft.reference).map_err(|wrong| format!("reference {wrong}"))?;
    let (send_at, valid_until) = times(&draft, now)?;
    let body = body(&draft)?;
    let mut message = Message {
        priority: draft.priority,
        registered_delivery: u32::from(draft.receipt),
        client_data: (!draft.reference.is_empty()).then(|| {
            Box::new(ClientData {
                reference: draft.reference,
                ..ClientData::default()
            })
        }),
        ..compose::between(source, destination.into())
    };
    compose::set_times(&mut message, send_at, valid_until);
    body.carry(&mut message);
    Ok(Drafted {
        parts: content::segments(&message),
        alphabet: body.alphabet,
        message,
    })
}

/// When it may be sent, and until when it may be delivered, in Unix milliseconds.
fn times(draft: &Draft, now: i64) -> Result<(Option<i64>, Option<i64>), String> {
    let time = |field: &str, at: i64| match at {
        0 => Ok(None),
        1..YEAR_2100 => Ok(Some(at)),
        _ => Err(format!(
            "{field} must be Unix milliseconds before the year 2100, not {at}"
        )),
    };
    let send_at = time("send_at", draft.send_at)?;
    let valid_until = time("valid_until", draft.valid_until)?;
    let valid_until = match (valid_until, draft.valid_for) {
        (until, 0) => until,
        (Some(_), _) => {
            return Err("valid_for and valid_until say the same; give one of them".to_owned());
        }
        (None, period) if period < SECOND => {
            return Err(format!(
                "valid_for must be a second or more, in milliseconds, not {period}"
            ));
        }
        (None, period) => {
            let until = send_at.unwrap_or(now).saturating_add(period);
            // What is later than the last time that can be written is cut to what the SMSC allows, as is this.
            Some(until.min(YEAR_2100 - 1))
        }
    };
    Ok((send_at, valid_until))
}

fn body(draft: &Draft) -> Result<ComposedBody, String> {
    let alphabet = match Alphabet::try_from(draft.alphabet) {
        Ok(Alphabet::Unspecified) => compose::TextAlphabet::Auto,
        Ok(Alphabet::Gsm) => compose::TextAlphabet::Gsm,
        Ok(Alphabet::Ucs2) => compose::TextAlphabet::Ucs2,
        Ok(Alphabet::Latin1) => compose::TextAlphabet::Latin1,
        Err(_) => return Err(format!("alphabet {} is unknown", draft.alphabet)),
    };
    match &draft.content {
        None => Err("text is missing, and data too".to_owned()),
        Some(Content::Text(text)) => {
            compose::text(text, alphabet, draft.flash).map_err(|refused| format!("text: {refused}"))
        }
        Some(Content::Data(_)) if alphabet != compose::TextAlphabet::Auto => {
            Err("alphabet belongs to text; data has none".to_owned())
        }
        Some(Content::Data(data)) => {
            // Copies, so that a message that waits does not keep the whole read buffer.
            let own = |octets: &Bytes| Bytes::copy_from_slice(octets);
            compose::data(own(&data.octets), own(&data.header), draft.flash)
                .map_err(|refused| format!("data: {refused}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb::local::Data;

    const NOW: i64 = 1_700_000_000_000;

    fn hello() -> Draft {
        Draft {
            to: "+44 7700 900123".to_owned(),
            from: "Bank".to_owned(),
            content: Some(Content::Text("hello".to_owned())),
            ..Draft::default()
        }
    }

    fn read(draft: Draft) -> Result<Drafted, String> {
        super::read(draft, NOW, &Numbers::default())
    }

    #[test]
    fn a_draft_is_the_message_that_http_would_make() {
        let drafted = read(Draft {
            receipt: true,
            priority: 2,
            reference: "order 7".to_owned(),
            valid_for: 3_600_000,
            ..hello()
        });
        let Drafted {
            message,
            alphabet,
            parts,
        } = drafted.unwrap();
        assert_eq!((alphabet, parts), ("GSM 7-bit", 1));
        assert_eq!(&message.destination[..], b"447700900123");
        assert_eq!((message.source_ton, &message.source[..]), (5, &b"Bank"[..]));
        assert_eq!((message.dest_ton, message.dest_npi), (1, 1));
        assert_eq!(&message.short_message[..], b"hello");
        assert_eq!((message.registered_delivery, message.priority), (1, 2));
        assert!(message.follow && message.divide);
        // An hour after 2023-11-14 22:13:20 (SMPP 3.4 §7.1.1.1).
        assert_eq!(&message.validity_period[..], b"231114231320000+");
        assert_eq!(&message.schedule_delivery_time[..], b"");
        assert_eq!(message.client_data.unwrap().reference, "order 7");
    }

    #[test]
    fn data_keeps_its_header() {
        let data = Data {
            header: Bytes::from_static(&[6, 5, 4, 0x0B, 0x84, 0x23, 0xF0]),
            octets: Bytes::from_static(&[1, 2, 3]),
        };
        let drafted = read(Draft {
            content: Some(Content::Data(data)),
            ..hello()
        });
        let message = drafted.unwrap().message;
        assert_eq!((message.data_coding, message.esm_class & 0x40), (4, 0x40));
        assert_eq!(
            &message.short_message[..],
            [6, 5, 4, 0x0B, 0x84, 0x23, 0xF0, 1, 2, 3]
        );
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table of mistakes")]
    fn what_is_wrong_is_said_with_its_field() {
        let data = Content::Data(Data::default());
        for (wrong, said) in [
            (
                Draft {
                    to: "hello".to_owned(),
                    ..hello()
                },
                "to must be",
            ),
            (
                Draft {
                    to: String::new(),
                    ..hello()
                },
                "to must be",
            ),
            (
                Draft {
                    from: "a sender too long".to_owned(),
                    ..hello()
                },
                "from must be",
            ),
            (
                Draft {
                    priority: 4,
                    ..hello()
                },
                "priority must be 0 to 3",
            ),
            (
                Draft {
                    reference: "a\nb".to_owned(),
                    ..hello()
                },
                "reference must be",
            ),
            (
                Draft {
                    content: None,
                    ..hello()
                },
                "text is missing",
            ),
            (
                Draft {
                    alphabet: 9,
                    ..hello()
                },
                "alphabet 9",
            ),
            (
                Draft {
                    alphabet: 1,
                    content: Some(data),
                    ..hello()
                },
                "alphabet belongs",
            ),
            (
                Draft {
                    alphabet: 1,
                    content: Some(Content::Text("я".to_owned())),
                    ..hello()
                },
                "text: the GSM alphabet has no",
            ),
            (
                Draft {
                    send_at: -1,
                    ..hello()
                },
                "send_at must be",
            ),
            (
                Draft {
                    send_at: YEAR_2100,
                    ..hello()
                },
                "send_at must be",
            ),
            (
                Draft {
                    valid_until: -1,
                    ..hello()
                },
                "valid_until must be",
            ),
            (
                Draft {
                    valid_for: 999,
                    ..hello()
                },
                "valid_for must be",
            ),
            (
                Draft {
                    valid_for: -5,
                    ..hello()
                },
                "valid_for must be",
            ),
            (
                Draft {
                    valid_for: 5_000,
                    valid_until: NOW + 1,
                    ..hello()
                },
                "give one",
            ),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains(said), "{error} instead of {said}");
        }
    }

    #[test]
    fn a_validity_for_ever_can_be_written() {
        let drafted = read(Draft {
            valid_for: i64::MAX,
            ..hello()
        });
        let message = drafted.unwrap().message;
        assert_eq!(&message.validity_period[..], b"991231235959900+");
    }
}
