//! Messages as octets. Those of the standard were made by pycrate 0.8.1 from the ASN.1 of Q.773 and MAP.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::component::{Invoke, RejectProblem, tests::any_component};
use crate::context::ApplicationContext;
use crate::dialogue_pdu::{AssociateOutcome, diagnostic};
use crate::hex::octets;

const OURS: u32 = 0x1234_5678;

fn name(context: u8, version: u8) -> crate::context::ContextName {
    ApplicationContext { context, version }.name()
}

fn id(hex: &str) -> TransactionId {
    TransactionId::new(&octets(hex)).unwrap()
}

/// sendRoutingInfoForSM and its result, as MAP writes them.
const ROUTING_ARGUMENT: &str =
    "30 15 80 07 91 94 71 00 00 00 10 81 01 FF 82 07 91 94 71 00 00 00 99";
const ROUTING_RESULT: &str = "30 15 04 08 00 01 01 00 00 00 00 F1 A0 09 81 07 91 94 71 00 00 00 20";

/// Messages of the standard, with what they say.
fn messages() -> Vec<(&'static str, TcapMessage)> {
    let routing = Component::Invoke(Invoke {
        id: 1,
        operation: 45,
        parameter: octets(ROUTING_ARGUMENT).into(),
        timeout: Duration::ZERO,
    });
    vec![
        (
            "62 47 48 04 12345678 6B 1E 28 1C 06 07 00118605010101 A0 11 60 0F 80 02 07 80
             A1 09 06 07 04000001001403 6C 1F A1 1D 02 01 01 02 01 2D
             30 15 80 07 91947100000010 81 01 FF 82 07 91947100000099",
            TcapMessage::Begin {
                origin: OURS.into(),
                dialogue: Some(DialoguePdu::request(name(20, 3))),
                components: vec![routing],
            },
        ),
        (
            "64 55 49 04 12345678 6B 2A 28 28 06 07 00118605010101 A0 1D 61 1B 80 02 07 80
             A1 09 06 07 04000001001403 A2 03 02 01 00 A3 05 A1 03 02 01 00
             6C 21 A2 1F 02 01 01 30 1A 02 01 2D
             30 15 04 08 00010100000000F1 A0 09 81 07 91947100000020",
            TcapMessage::End {
                destination: OURS.into(),
                dialogue: Some(DialoguePdu::accept(name(20, 3))),
                components: vec![Component::result(1, 45, octets(ROUTING_RESULT).into())],
            },
        ),
        (
            "64 3E 49 04 12345678 6B 2A 28 28 06 07 00118605010101 A0 1D 61 1B 80 02 07 80
             A1 09 06 07 04000001001403 A2 03 02 01 00 A3 05 A1 03 02 01 00
             6C 0A A3 08 02 01 01 02 01 1B 30 00",
            TcapMessage::End {
                destination: OURS.into(),
                dialogue: Some(DialoguePdu::accept(name(20, 3))),
                components: vec![Component::error(1, 27, octets("30 00").into())],
            },
        ),
        (
            "65 36 48 02 ABCD 49 04 12345678 6B 2A 28 28 06 07 00118605010101 A0 1D 61 1B 80 02 07 80
             A1 09 06 07 04000001001903 A2 03 02 01 00 A3 05 A1 03 02 01 00",
            TcapMessage::Continue {
                origin: id("ABCD"),
                destination: OURS.into(),
                dialogue: Some(DialoguePdu::accept(name(25, 3))),
                components: Vec::new(),
            },
        ),
        (
            "65 15 48 02 ABCD 49 04 12345678 6C 09 A4 07 02 01 05 81 02 00 C8",
            TcapMessage::Continue {
                origin: id("ABCD"),
                destination: OURS.into(),
                dialogue: None,
                components: vec![Component::Reject {
                    id: Some(5),
                    problem: RejectProblem::Invoke(200),
                }],
            },
        ),
        (
            "67 32 49 04 12345678 6B 2A 28 28 06 07 00118605010101 A0 1D 61 1B 80 02 07 80
             A1 09 06 07 04000001001902 A2 03 02 01 01 A3 05 A1 03 02 01 02",
            TcapMessage::Abort {
                destination: OURS.into(),
                reason: AbortReason::User(Some(DialoguePdu::refuse(
                    name(25, 2),
                    AssociateOutcome::RefusedByUser(diagnostic::CONTEXT_NOT_SUPPORTED),
                ))),
            },
        ),
        (
            "67 1A 49 04 12345678 6B 12 28 10 06 07 00118605010101 A0 05 64 03 80 01 00",
            TcapMessage::Abort {
                destination: OURS.into(),
                reason: AbortReason::User(Some(DialoguePdu::abort(true))),
            },
        ),
        (
            "67 09 49 04 12345678 4A 01 04",
            TcapMessage::Abort {
                destination: OURS.into(),
                reason: AbortReason::Provider(PAbortCause::ResourceLimitation),
            },
        ),
        (
            "67 03 49 01 07",
            TcapMessage::Abort {
                destination: id("07"),
                reason: AbortReason::User(None),
            },
        ),
    ]
}

#[test]
fn messages_are_those_of_the_standard() {
    for (hex, message) in messages() {
        assert_eq!(message.encode()[..], octets(hex), "{message:?}");
        assert_eq!(TcapMessage::decode(&octets(hex)), Ok(message));
    }
}

#[test]
fn indefinite_lengths_are_read() {
    // The first message of the standard again, as its ASN.1 may also be written. Q.773 §4.1.2.3
    let hex = "62 80 48 04 12345678 6B 80 28 80 06 07 00118605010101 A0 80 60 80 80 02 07 80
         A1 80 06 07 04000001001403 00 00 00 00 00 00 00 00 00 00 6C 80 A1 80 02 01 01 02 01 2D
         30 80 80 07 91947100000010 81 01 FF 82 07 91947100000099 00 00 00 00 00 00 00 00";
    let (_, message) = messages().remove(0);
    assert_eq!(TcapMessage::decode(&octets(hex)), Ok(message));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_cannot_be_read_says_what_its_answer_needs() {
    use MessageFault::{Dialogue, Transaction};
    use PAbortCause as Cause;
    use TcapMessageType as Type;
    let badly = Transaction(Cause::BadlyFormattedTransactionPortion);
    let incorrect = Transaction(Cause::IncorrectTransactionPortion);
    let unknown = Transaction(Cause::UnrecognizedMessageType);
    // Q.774 §3.3.4 and table 7, Q.772 §2.3: octets, type, origin, destination, fault.
    for (hex, message_type, origin, destination, why) in [
        ("", None, None, None, unknown),
        ("30 00", None, None, None, unknown),
        (
            "63 06 48 01 01 49 01 02",
            None,
            Some("01"),
            Some("02"),
            unknown,
        ),
        ("42 03 48 01 01", None, Some("01"), None, unknown),
        // Lengths that lie, and what is behind the message.
        ("62 7F 48 01 01", Some(Type::Begin), Some("01"), None, badly),
        (
            "62 84 FF FF FF FF 48 01 01",
            Some(Type::Begin),
            Some("01"),
            None,
            badly,
        ),
        (
            "62 03 48 01 01 00",
            Some(Type::Begin),
            Some("01"),
            None,
            badly,
        ),
        (
            "62 05 48 01 01 6C 7F",
            Some(Type::Begin),
            Some("01"),
            None,
            badly,
        ),
        (
            "62 80 48 01 01 00",
            Some(Type::Begin),
            Some("01"),
            None,
            badly,
        ),
        // Ids that are missing, too long, or in the wrong place.
        ("62 00", Some(Type::Begin), None, None, incorrect),
        ("62 02 48 00", Some(Type::Begin), None, None, incorrect),
        (
            "62 07 48 05 01 02 03 04 05",
            Some(Type::Begin),
            None,
            None,
            incorrect,
        ),
        (
            "62 03 49 01 01",
            Some(Type::Begin),
            None,
            Some("01"),
            incorrect,
        ),
        (
            "62 06 48 01 01 49 01 02",
            Some(Type::Begin),
            Some("01"),
            Some("02"),
            incorrect,
        ),
        (
            "65 03 48 01 01",
            Some(Type::Continue),
            Some("01"),
            None,
            incorrect,
        ),
        (
            "65 06 49 01 02 48 01 01",
            Some(Type::Continue),
            Some("01"),
            Some("02"),
            incorrect,
        ),
        ("64 00", Some(Type::End), None, None, incorrect),
        (
            "67 08 49 01 02 4A 03 01 00 00",
            Some(Type::Abort),
            None,
            Some("02"),
            incorrect,
        ),
        (
            "67 05 49 01 02 4A 00",
            Some(Type::Abort),
            None,
            Some("02"),
            incorrect,
        ),
        // Fields that are none of the message, and dialogue portions that are none.
        (
            "62 05 48 01 01 05 00",
            Some(Type::Begin),
            Some("01"),
            None,
            incorrect,
        ),
        (
            "62 05 48 01 01 4C 00",
            Some(Type::Begin),
            Some("01"),
            None,
            incorrect,
        ),
        (
            "67 05 49 01 02 6C 00",
            Some(Type::Abort),
            None,
            Some("02"),
            incorrect,
        ),
        (
            "62 05 48 01 01 6B 00",
            Some(Type::Begin),
            Some("01"),
            None,
            Dialogue,
        ),
        (
            "65 08 48 01 01 49 01 02 6B 00",
            Some(Type::Continue),
            Some("01"),
            Some("02"),
            Dialogue,
        ),
        (
            "67 05 49 01 02 6B 00",
            Some(Type::Abort),
            None,
            Some("02"),
            Dialogue,
        ),
    ] {
        let fault = UnreadableMessage {
            message_type,
            origin: origin.map(id),
            destination: destination.map(id),
            why,
        };
        assert_eq!(TcapMessage::decode(&octets(hex)), Err(fault), "{hex}");
    }
}

#[test]
fn a_message_of_many_fields_is_none() {
    let fields = [octets("48 01 01"), [5, 0].repeat(30_000)].concat();
    let fault = TcapMessage::decode(&ber::element(BEGIN, &fields)).unwrap_err();
    let incorrect = MessageFault::Transaction(PAbortCause::IncorrectTransactionPortion);
    assert_eq!((fault.origin, fault.why), (Some(id("01")), incorrect));
}

#[test]
fn deep_nesting_is_no_message() {
    // In an empty Begin, in the dialogue portion, and in a component.
    for before in [
        "62 80",
        "62 80 48 01 01 6B 80",
        "62 80 48 01 01 6C 80 A1 80 02 01 01 02 01 2D",
    ] {
        let before = octets(before);
        let deep = [before, [0x30, 0x80].repeat(20_000), [0, 0].repeat(20_004)].concat();
        assert!(TcapMessage::decode(&deep).is_err());
    }
}

#[test]
fn what_comes_back_in_part_is_known_by_its_ids() {
    let begin = messages().remove(0).1.encode();
    for size in [8, 20, begin.len()] {
        let ids = returned_ids(&begin[..size]);
        assert_eq!(ids.message_type, Some(TcapMessageType::Begin));
        assert_eq!(ids.origin.and_then(|origin| origin.number()), Some(OURS));
    }
    assert_eq!(returned_ids(&begin[..7]).origin, None);
    assert_eq!(returned_ids(&[]).message_type, None);
}

#[test]
fn numbers_of_abort_causes_come_back() {
    for number in 0..=u8::MAX {
        assert_eq!(PAbortCause::from(number).number(), number);
    }
}

/// A message with a few octets changed, cut, or doubled.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let count = messages().len();
    let change = (any::<prop::sample::Index>(), any::<u8>());
    (
        0..count,
        prop::collection::vec(change, 0..4),
        any::<prop::sample::Index>(),
        0..3,
    )
        .prop_map(|(which, changes, at, how)| {
            let mut octets = octets(messages()[which].0);
            for (at, octet) in changes {
                let at = at.index(octets.len());
                octets[at] = octet;
            }
            let at = at.index(octets.len());
            match how {
                0 => octets.truncate(at),
                1 => octets.extend_from_within(at..),
                _ => {}
            }
            octets
        })
}

proptest! {
    #[test]
    fn no_octets_panic(input in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = (TcapMessage::decode(&input), returned_ids(&input));
    }

    /// What is taken means what is written of it.
    #[test]
    fn damaged_messages_are_refused_or_mean_something(input in damaged()) {
        let _ = returned_ids(&input);
        if let Ok(message) = TcapMessage::decode(&input) {
            let written = message.encode();
            let again = TcapMessage::decode(&written);
            prop_assert_eq!(again.as_ref().map(TcapMessage::encode), Ok(written));
        }
    }

    #[test]
    fn what_is_written_is_read(
        ids in any::<(u32, u32)>(),
        kind in 0..3,
        has_dialogue in any::<bool>(),
        components in prop::collection::vec(any_component(), 0..4),
    ) {
        let (origin, destination) = (ids.0.into(), ids.1.into());
        let dialogue = has_dialogue.then(|| DialoguePdu::accept(name(21, 2)));
        let message = match kind {
            0 => TcapMessage::Begin { origin, dialogue, components },
            1 => TcapMessage::Continue { origin, destination, dialogue, components },
            _ => TcapMessage::End { destination, dialogue, components },
        };
        prop_assert_eq!(TcapMessage::decode(&message.encode()), Ok(message));
    }
}
