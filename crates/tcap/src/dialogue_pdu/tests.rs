//! Dialogue portions as octets. Those of the standard were made by pycrate 0.8.1 from its ASN.1.

use proptest::prelude::*;

use super::*;
use crate::hex::octets;

const EXTERNAL: &str = "06 07 00 11 86 05 01 01 01 A0";
const SHORT_MESSAGE_GATEWAY: &str = "A1 09 06 07 04 00 00 01 00 14 03";

fn gateway() -> ContextName {
    context(20, 3).name()
}

fn context(context: u8, version: u8) -> ApplicationContext {
    ApplicationContext { context, version }
}

fn written(pdu: &DialoguePdu) -> Vec<u8> {
    let mut out = Vec::new();
    pdu.write(&mut out);
    out
}

fn read(portion: &[u8]) -> Result<DialoguePdu, MalformedDialogue> {
    let portion = ber::only(portion).unwrap();
    assert_eq!(portion.tag, DIALOGUE_PORTION);
    DialoguePdu::read(portion.content)
}

/// The APDU in a dialogue portion, with what it holds as hex.
fn portion(apdu: u32, fields: &str) -> Vec<u8> {
    let apdu = ber::element(apdu, &octets(fields));
    let mut external = octets("06 07 00 11 86 05 01 01 01");
    ber::write(&mut external, SINGLE_ASN1_TYPE, &apdu);
    ber::element(DIALOGUE_PORTION, &ber::element(ber::EXTERNAL, &external))
}

#[test]
fn dialogue_portions_are_those_of_the_standard() {
    // Q.773 §3.2.
    let refused = |outcome| DialoguePdu::refuse(gateway(), outcome);
    for (hex, pdu) in [
        (
            format!("6B 1E 28 1C {EXTERNAL} 11 60 0F 80 02 07 80 {SHORT_MESSAGE_GATEWAY}"),
            DialoguePdu::request(gateway()),
        ),
        (
            format!(
                "6B 2A 28 28 {EXTERNAL} 1D 61 1B 80 02 07 80 {SHORT_MESSAGE_GATEWAY}
                 A2 03 02 01 00 A3 05 A1 03 02 01 00"
            ),
            DialoguePdu::accept(gateway()),
        ),
        (
            format!(
                "6B 2A 28 28 {EXTERNAL} 1D 61 1B 80 02 07 80 {SHORT_MESSAGE_GATEWAY}
                 A2 03 02 01 01 A3 05 A1 03 02 01 02"
            ),
            refused(AssociateOutcome::RefusedByUser(
                diagnostic::CONTEXT_NOT_SUPPORTED,
            )),
        ),
        (
            format!(
                "6B 2A 28 28 {EXTERNAL} 1D 61 1B 80 02 07 80 {SHORT_MESSAGE_GATEWAY}
                 A2 03 02 01 01 A3 05 A2 03 02 01 02"
            ),
            refused(AssociateOutcome::RefusedByProvider(
                diagnostic::NO_COMMON_PORTION,
            )),
        ),
        (
            format!("6B 12 28 10 {EXTERNAL} 05 64 03 80 01 00"),
            DialoguePdu::abort(true),
        ),
        (
            format!("6B 12 28 10 {EXTERNAL} 05 64 03 80 01 01"),
            DialoguePdu::abort(false),
        ),
    ] {
        assert_eq!(written(&pdu), octets(&hex));
        assert_eq!(read(&octets(&hex)), Ok(pdu));
    }
}

#[test]
fn fields_that_may_be_left_out_are() {
    // The version by default, and what MAP adds: map-open with a destination reference, TS 29.002 §17.4
    let map_open = "BE 14 28 12 06 07 04 00 00 01 01 01 01 A0 07 A0 05 80 03 96 04 F1";
    for fields in [
        SHORT_MESSAGE_GATEWAY.to_owned(),
        format!("80 02 07 80 {SHORT_MESSAGE_GATEWAY} {map_open}"),
        format!("80 02 06 C0 {SHORT_MESSAGE_GATEWAY}"),
    ] {
        let request = DialoguePdu::request(gateway());
        assert_eq!(read(&portion(AARQ, &fields)), Ok(request), "{fields}");
    }
}

#[test]
fn another_version_is_seen() {
    for version in ["80 02 06 40", "80 01 00"] {
        let fields = format!("{version} {SHORT_MESSAGE_GATEWAY}");
        let request = DialoguePdu::Request {
            context: gateway(),
            has_version_1: false,
        };
        assert_eq!(read(&portion(AARQ, &fields)), Ok(request));
    }
}

#[test]
fn what_is_no_dialogue_portion_is_refused() {
    let name = SHORT_MESSAGE_GATEWAY;
    for (apdu, fields) in [
        (AARQ, String::new()),
        (AARQ, "80 02 07 80".to_owned()),
        (AARQ, format!("80 00 {name}")),
        (AARQ, format!("80 02 08 80 {name}")),
        (AARQ, "A1 00".to_owned()),
        (AARQ, "A1 02 06 00".to_owned()),
        (AARQ, "A1 03 02 01 05".to_owned()),
        (AARQ, format!("{name} {name}")),
        (
            AARE,
            format!("80 02 06 40 {name} A2 03 02 01 00 A3 05 A1 03 02 01 00"),
        ),
        (AARE, name.to_owned()),
        (AARE, format!("{name} A2 03 02 01 00")),
        (AARE, format!("{name} A2 03 02 01 00 A3 00")),
        (AARE, format!("{name} A2 03 02 01 00 A3 05 A3 03 02 01 00")),
        (AARE, format!("{name} A2 00 A3 05 A1 03 02 01 00")),
        (AARE, format!("{name} A2 03 02 01 01 A3 05 A1 03 02 01 FF")),
        (ABRT, String::new()),
        (ABRT, "80 00".to_owned()),
        (0x62, String::new()),
    ] {
        assert_eq!(
            read(&portion(apdu, &fields)),
            Err(MalformedDialogue),
            "{fields}"
        );
    }
    // An EXTERNAL of another abstract syntax, none at all, and two.
    for hex in [
        "6B 0B 28 09 06 02 2A 03 A0 03 60 01 00",
        "6B 00",
        "6B 02 05 00",
        "6B 04 28 00 28 00",
    ] {
        assert_eq!(read(&octets(hex)), Err(MalformedDialogue), "{hex}");
    }
}

#[test]
fn a_refusal_may_name_another_context() {
    let offered = context(25, 3);
    // map-refuse: reason, alternativeApplicationContext. 3GPP TS 29.002 §17.4
    let refuse =
        octets("28 19 06 07 04 00 00 01 01 01 01 A0 0E A3 0C 0A 01 00 06 07 04 00 00 01 00 19 02");
    let (refuse, none) = (&refuse[..], &[][..]);
    let name = context(25, 1).name();
    for (context_name, information, alternative) in [
        (offered.name(), none, None),
        (name.clone(), none, Some(context(25, 1))),
        (offered.name(), refuse, Some(context(25, 2))),
        (name.clone(), refuse, Some(context(25, 2))),
        (name, &refuse[..9], Some(context(25, 1))),
        (ContextName(Bytes::from_static(b"\x2A")), none, None),
    ] {
        let found = alternative_of(offered, &context_name, information);
        assert_eq!(found, alternative);
    }
}

proptest! {
    #[test]
    fn no_octets_panic(input in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = DialoguePdu::read(&input);
        for apdu in [AARQ, AARE, ABRT] {
            let apdu = ber::element(apdu, &input);
            let mut external = octets("06 07 00 11 86 05 01 01 01");
            ber::write(&mut external, SINGLE_ASN1_TYPE, &apdu);
            let _ = DialoguePdu::read(&ber::element(ber::EXTERNAL, &external));
        }
        let _ = alternative_of(context(25, 3), &gateway(), &input);
    }

    #[test]
    fn what_is_written_is_read(
        arcs in any::<(u8, u8)>(),
        kind in 0..5,
        diagnostic in any::<u8>(),
        added in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let name = context(arcs.0, arcs.1).name();
        let mut pdu = match kind {
            0 => DialoguePdu::request(name),
            1 => DialoguePdu::accept(name),
            2 => DialoguePdu::refuse(name, AssociateOutcome::RefusedByUser(diagnostic)),
            3 => DialoguePdu::refuse(name, AssociateOutcome::RefusedByProvider(diagnostic)),
            _ => DialoguePdu::abort(diagnostic == 0),
        };
        if let DialoguePdu::Response { information, .. } | DialoguePdu::Abort { information, .. } =
            &mut pdu
        {
            *information = added.into();
        }
        prop_assert_eq!(read(&written(&pdu)), Ok(pdu));
    }
}
