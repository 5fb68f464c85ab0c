//! What cannot be read, by table 7 of Q.774, and what is read in spite of a peer's liberties.

use super::*;
use crate::component::ComponentKind;
use crate::dialogue_pdu::{AssociateOutcome, diagnostic};

/// A table that hears from a stranger: what it answers.
fn heard(hex: &str) -> Vec<UnitdataRequest> {
    let mut table = TcapDialogues::new(config());
    table.received(smsc(), hlr(), &octets(hex).into(), Instant::now());
    assert_eq!(events(&mut table), []);
    sent(&mut table)
}

/// A message with the id of `ours` in place of `00000000`.
fn to(ours: DialogueId, hex: &str) -> Bytes {
    let mut message = octets(hex);
    let place = message
        .windows(4)
        .position(|octets| octets == [0; 4])
        .unwrap();
    message[place..place + 4].copy_from_slice(&ours.0.to_be_bytes());
    message.into()
}

#[test]
fn strangers_get_an_abort_if_they_can_be_answered() {
    use PAbortCause as Cause;
    // Q.774 §3.3.4.1, table 7; the Abort has the sender's id.
    for (hex, cause) in [
        (
            "62 05 48 01 07 6C 7F",
            Cause::BadlyFormattedTransactionPortion,
        ),
        ("62 03 48 01 07 00", Cause::BadlyFormattedTransactionPortion),
        (
            "62 06 48 01 07 49 01 02",
            Cause::IncorrectTransactionPortion,
        ),
        ("65 03 48 01 07", Cause::IncorrectTransactionPortion),
        ("63 03 48 01 07", Cause::UnrecognizedMessageType),
        (
            "65 09 48 01 07 49 04 00000001",
            Cause::UnrecognizedTransactionId,
        ),
        ("65 06 48 01 07 49 01 02", Cause::UnrecognizedTransactionId),
    ] {
        let answers = heard(hex);
        let [answer] = &answers[..] else {
            panic!("{hex}: {answers:?}");
        };
        let expected = format!("67 06 49 01 07 4A 01 {:02X}", cause.number());
        assert_eq!(answer.data[..], octets(&expected), "{hex}");
        assert_eq!((&answer.called, &answer.calling), (&hlr(), &smsc()));
        assert!(!answer.return_on_error);
    }
}

#[test]
fn an_abort_or_an_end_is_never_answered() {
    for hex in [
        // Without an id there is nobody to answer.
        "",
        "62 00",
        "62 07 48 05 01 02 03 04 05",
        "30 00",
        // Of no dialogue.
        "64 06 49 04 00000001",
        "67 09 49 04 00000001 4A 01 00",
        // Unreadable.
        "64 06 48 01 07 49 01 02",
        "67 06 48 01 07 49 01 02",
        "64 08 48 01 07 49 01 02 6C 7F",
        "61 03 48 01 07",
        "61 05 48 01 07 6C 7F",
    ] {
        assert_eq!(heard(hex), [], "{hex}");
    }
}

#[test]
fn an_unknown_context_is_refused() {
    let refused = |context: crate::context::ContextName, outcome| {
        AbortReason::User(Some(DialoguePdu::refuse(context, outcome)))
    };
    let begin = |request| TcapMessage::Begin {
        origin: 7_u32.into(),
        dialogue: Some(request),
        components: Vec::new(),
    };
    // CAP's, 0.4.0.0.1.21.3.4
    let cap = crate::context::ContextName(octets("04 00 00 01 15 03 04").into());
    let mut table = TcapDialogues::new(config());
    let request = begin(DialoguePdu::request(cap.clone()));
    table.received(smsc(), hlr(), &request.encode(), Instant::now());
    let outcome = AssociateOutcome::RefusedByUser(diagnostic::CONTEXT_NOT_SUPPORTED);
    assert_eq!(abort_in(&sent(&mut table)[0].data), refused(cap, outcome));
    // A dialogue portion of another version.
    let of_version_1 = begin(DialoguePdu::request(GATEWAY.name()))
        .encode()
        .to_vec();
    let place = of_version_1
        .windows(4)
        .position(|octets| octets == [0x80, 2, 7, 0x80]);
    let mut of_version_2 = of_version_1;
    of_version_2[place.unwrap() + 3] = 0x40;
    table.received(smsc(), hlr(), &of_version_2.into(), Instant::now());
    let outcome = AssociateOutcome::RefusedByProvider(diagnostic::NO_COMMON_PORTION);
    let reason = abort_in(&sent(&mut table)[0].data);
    assert_eq!(reason, refused(GATEWAY.name(), outcome));
    // What belongs into an answer, or is no dialogue portion at all.
    let answer = begin(DialoguePdu::accept(GATEWAY.name())).encode();
    let broken = octets("62 05 48 01 07 6B 00").into();
    for message in [answer, broken] {
        table.received(smsc(), hlr(), &message, Instant::now());
        let reason = abort_in(&sent(&mut table)[0].data);
        assert_eq!(reason, AbortReason::User(Some(DialoguePdu::abort(false))));
    }
    assert_eq!(events(&mut table), []);
    assert_eq!(table.incoming(), 0);
}

#[test]
fn an_unreadable_answer_ends_the_dialogue() {
    let badly = TcapAbort::Provider(PAbortCause::BadlyFormattedTransactionPortion);
    let incorrect = TcapAbort::Provider(PAbortCause::IncorrectTransactionPortion);
    let abnormal = TcapAbort::Provider(PAbortCause::AbnormalDialogue);
    // The answer, why the dialogue is over, and whether the peer hears of it.
    for (hex, why, is_answered) in [
        ("65 0B 48 01 07 49 04 00000000 6C 7F", &badly, true),
        ("65 0B 48 01 07 49 04 00000000 05 00", &incorrect, true),
        ("65 0B 48 01 07 49 04 00000000 6B 00", &abnormal, true),
        ("64 08 49 04 00000000 6C 7F", &badly, false),
        ("64 08 49 04 00000000 6B 00", &abnormal, false),
        ("67 08 49 04 00000000 6C 00", &incorrect, false),
        ("67 08 49 04 00000000 6B 00", &abnormal, false),
    ] {
        let mut network = Network::new();
        let ours = network.begin(vec![asked(1)]);
        sent(&mut network.smsc);
        network
            .smsc
            .received(smsc(), hlr(), &to(ours, hex), network.now);
        assert_eq!(
            events(&mut network.smsc),
            [aborted(ours, why.clone())],
            "{hex}"
        );
        assert_eq!(
            sent(&mut network.smsc).len(),
            usize::from(is_answered),
            "{hex}"
        );
        assert_eq!(network.smsc.begun(), 0);
    }
}

#[test]
fn a_dialogue_portion_in_the_wrong_place_aborts() {
    let ids = |ours: DialogueId| (7_u32.into(), ours.0.into());
    for pdu in [
        DialoguePdu::request(GATEWAY.name()),
        DialoguePdu::abort(true),
    ] {
        let mut network = Network::new();
        let ours = network.begin(vec![asked(1)]);
        sent(&mut network.smsc);
        let (origin, destination) = ids(ours);
        let message = TcapMessage::Continue {
            origin,
            destination,
            dialogue: Some(pdu),
            components: Vec::new(),
        };
        network
            .smsc
            .received(smsc(), hlr(), &message.encode(), network.now);
        let why = TcapAbort::Provider(PAbortCause::AbnormalDialogue);
        assert_eq!(events(&mut network.smsc), [aborted(ours, why)]);
        let reason = abort_in(&sent(&mut network.smsc)[0].data);
        assert_eq!(reason, AbortReason::User(Some(DialoguePdu::abort(false))));
    }
}

#[test]
fn a_refusal_in_a_continue_or_an_end_is_one() {
    let older = ApplicationContext {
        version: 2,
        ..GATEWAY
    };
    let outcome = AssociateOutcome::RefusedByUser(diagnostic::CONTEXT_NOT_SUPPORTED);
    for is_end in [true, false] {
        let mut network = Network::new();
        let ours = network.begin(vec![asked(1)]);
        sent(&mut network.smsc);
        let (origin, destination) = (7_u32.into(), ours.0.into());
        let dialogue = Some(DialoguePdu::refuse(older.name(), outcome));
        let components = Vec::new();
        let message = if is_end {
            TcapMessage::End {
                destination,
                dialogue,
                components,
            }
        } else {
            TcapMessage::Continue {
                origin,
                destination,
                dialogue,
                components,
            }
        };
        network
            .smsc
            .received(smsc(), hlr(), &message.encode(), network.now);
        let alternative = Some(older);
        let why = TcapAbort::ContextNotSupported { alternative };
        assert_eq!(events(&mut network.smsc), [aborted(ours, why)]);
        assert_eq!(sent(&mut network.smsc).len(), usize::from(!is_end));
    }
}

#[test]
fn an_answer_without_a_dialogue_portion_is_taken() {
    let mut network = Network::new();
    let ours = network.begin(vec![asked(1)]);
    sent(&mut network.smsc);
    let end = to(ours, "64 0D 49 04 00000000 6C 05 A2 03 02 01 01");
    network.smsc.received(smsc(), hlr(), &end, network.now);
    let result = Component::Result {
        id: 1,
        is_last: true,
        operation: None,
        parameter: Bytes::new(),
    };
    assert_eq!(events(&mut network.smsc), [ended(ours, vec![result], None)]);
}

#[test]
fn an_abort_tells_why() {
    let refused = TcapAbort::Provider(PAbortCause::NoCommonDialoguePortion);
    let provider = TcapAbort::Provider(PAbortCause::AbnormalDialogue);
    let added = TcapAbort::User {
        information: octets("28 0F 06 07 04000001010101 A0 04 A4 02 80 00").into(),
    };
    for (hex, why) in [
        ("67 06 49 04 00000000", by_user()),
        (
            "67 09 49 04 00000000 4A 01 04",
            TcapAbort::Provider(PAbortCause::ResourceLimitation),
        ),
        (
            "67 09 49 04 00000000 4A 01 63",
            TcapAbort::Provider(PAbortCause::Other(0x63)),
        ),
        (
            "67 1A 49 04 00000000 6B 12 28 10 06 07 00118605010101 A0 05 64 03 80 01 01",
            provider,
        ),
        (
            "67 32 49 04 00000000 6B 2A 28 28 06 07 00118605010101 A0 1D 61 1B 80 02 07 80
             A1 09 06 07 04000001001403 A2 03 02 01 01 A3 05 A2 03 02 01 02",
            refused,
        ),
        (
            "67 2D 49 04 00000000 6B 25 28 23 06 07 00118605010101 A0 18 64 16 80 01 00
             BE 11 28 0F 06 07 04000001010101 A0 04 A4 02 80 00",
            added,
        ),
    ] {
        let mut network = Network::new();
        let ours = network.begin(vec![asked(1)]);
        sent(&mut network.smsc);
        network
            .smsc
            .received(smsc(), hlr(), &to(ours, hex), network.now);
        assert_eq!(events(&mut network.smsc), [aborted(ours, why)], "{hex}");
        assert_eq!(sent(&mut network.smsc), []);
    }
}

#[test]
fn an_unreadable_component_is_rejected_with_the_next_message() {
    let mut network = Network::new();
    let (ours, theirs) = network.active(vec![asked(1)]);
    let peer_id = theirs.0.into();
    // The answer of invoke 1 lacks everything but its id; behind it is another component.
    let head = TcapMessage::Continue {
        origin: peer_id,
        destination: ours.0.into(),
        dialogue: None,
        components: vec![Component::error(2, 1, Bytes::new())],
    };
    let mut message = head.encode().to_vec();
    let place = message.len() - 8;
    message.splice(place.., octets("A3 03 02 01 01 A1 00 00"));
    network
        .smsc
        .received(smsc(), hlr(), &message.into(), network.now);
    let problem = RejectProblem::MISTYPED_COMPONENT;
    let unreadable = Component::Unreadable {
        id: Some(1),
        of: Some(ComponentKind::Error),
        problem,
    };
    assert_eq!(
        events(&mut network.smsc),
        [proceeded(ours, vec![unreadable], None)]
    );
    network.smsc.end(ours, Vec::new());
    let (_, at_hlr) = network.carry();
    let reject = Component::Reject {
        id: Some(1),
        problem,
    };
    assert_eq!(at_hlr, [ended(theirs, vec![reject], None)]);
}

#[test]
fn a_reject_is_never_rejected() {
    let mut network = Network::new();
    let (ours, theirs) = network.active(Vec::new());
    let mut message = TcapMessage::Continue {
        origin: theirs.0.into(),
        destination: ours.0.into(),
        dialogue: None,
        components: vec![Component::Reject {
            id: None,
            problem: RejectProblem::General(0),
        }],
    }
    .encode()
    .to_vec();
    // A problem of a class that there is not.
    let place = message.len() - 3;
    message[place] = 0x8A;
    network
        .smsc
        .received(smsc(), hlr(), &message.into(), network.now);
    assert_eq!(events(&mut network.smsc).len(), 1);
    network.smsc.end(ours, Vec::new());
    assert_eq!(network.carry().1, [ended(theirs, Vec::new(), None)]);
}
