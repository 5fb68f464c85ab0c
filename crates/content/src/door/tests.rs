//! What is taken, made right and refused.

use bytes::Bytes;

use super::*;

const ESME: Bringer = Bringer::Account {
    two_texts: TwoTexts::Refuse,
    is_centre: false,
};

fn esme(two_texts: TwoTexts) -> Bringer {
    Bringer::Account {
        two_texts,
        is_centre: false,
    }
}

fn message() -> Message {
    Message {
        source: Bytes::from_static(b"12345"),
        destination: Bytes::from_static(b"447700900123"),
        ..Message::default()
    }
}

fn with(tlvs: &[(u16, &[u8])]) -> Message {
    let mut all = Tlvs::new();
    tlvs.iter().for_each(|(tag, value)| all.push(*tag, value));
    Message {
        tlvs: all.raw().clone(),
        ..message()
    }
}

#[test]
fn a_number_has_one_form_however_it_is_written() {
    let mut given = Message {
        source: Bytes::from_static(b"+44 (7700) 900999"),
        destination: Bytes::from_static(b"+44 7700-900123"),
        ..message()
    };
    enter(&mut given, ESME).unwrap();
    assert_eq!(&given.source[..], b"+447700900999");
    assert_eq!(&given.destination[..], b"+447700900123");
    let name = Message {
        source_ton: ALPHANUMERIC,
        source: Bytes::from_static(b"24-7"),
        ..message()
    };
    let mut entered = name.clone();
    enter(&mut entered, ESME).unwrap();
    assert_eq!(entered, name, "a name is no number");
    // What an operator brings is not lost for it.
    let odd = Message {
        destination: Bytes::from_static(b"447700900123f"),
        ..message()
    };
    let mut entered = odd.clone();
    enter(&mut entered, Bringer::Operator).unwrap();
    assert_eq!(entered, odd);
}

#[test]
fn fields_that_no_standard_peer_takes_are_refused_by_their_status() {
    let text = |text: &'static [u8]| Bytes::from_static(text);
    let source = |source_ton, octets| Message {
        source_ton,
        source: text(octets),
        ..message()
    };
    let destination = |dest_ton, octets| Message {
        dest_ton,
        destination: text(octets),
        ..message()
    };
    let service = |service_type: &[u8]| Message {
        service_type: service_type.to_vec(),
        ..message()
    };
    let ok = CommandStatus::ESME_ROK;
    for (given, status) in [
        (source(5, b"ABCDEFGHIJKLMNOPQRST"), ok),
        (
            source(5, b"ABCDEFGHIJKLMNOPQRSTU"),
            CommandStatus::ESME_RINVSRCADR,
        ),
        // Names may be of any alphabet, also without their TON.
        (source(5, b"A.B c-_@!~\x01"), ok),
        (source(0, b"Caf\xe9"), ok),
        (source(0, b"123\x07"), CommandStatus::ESME_RINVSRCADR),
        (source(8, b"12345"), CommandStatus::ESME_RINVSRCTON),
        (source(7, b"12345"), ok),
        (destination(2, b"*100#"), ok),
        (
            destination(2, b"+44 7700*900#"),
            CommandStatus::ESME_RINVDSTADR,
        ),
        (
            destination(1, b"447700900123f"),
            CommandStatus::ESME_RINVDSTADR,
        ),
        (
            destination(0, b"123456789012345678901"),
            CommandStatus::ESME_RINVDSTADR,
        ),
        (destination(0, b"4477\xe9"), CommandStatus::ESME_RINVDSTADR),
        (destination(0, b"4477\n"), CommandStatus::ESME_RINVDSTADR),
        (destination(200, b"4477"), CommandStatus::ESME_RINVDSTTON),
        (service(b"CMT"), ok),
        (service(b"SERVIC"), CommandStatus::ESME_RINVSERTYP),
        (service(b"C\x80"), CommandStatus::ESME_RINVSERTYP),
    ] {
        let mut entered = given.clone();
        let verdict = enter(&mut entered, ESME).err().unwrap_or(ok);
        assert_eq!(verdict, status, "{given:?}");
        if verdict == ok {
            assert_eq!(entered, given, "nothing changes");
        }
    }
}

#[test]
fn what_an_operator_brings_is_made_right_where_it_can_be() {
    let mut odd = Message {
        source_ton: 9,
        dest_ton: 0xFF,
        service_type: b"SERVICE".to_vec(),
        priority: 200,
        replace_if_present: 7,
        ..message()
    };
    assert_eq!(enter(&mut odd, Bringer::Operator), Ok(()));
    assert_eq!((odd.source_ton, odd.dest_ton, odd.priority), (0, 0, 3));
    assert_eq!((odd.service_type.len(), odd.replace_if_present), (0, 0));
    let mut long = Message {
        source: Bytes::from_static(b"123456789012345678901"),
        ..message()
    };
    let refused = Err(CommandStatus::ESME_RINVSRCADR);
    assert_eq!(enter(&mut long, Bringer::Operator), refused);
}

#[test]
fn only_a_message_centre_brings_receipts() {
    let centre = Bringer::Account {
        two_texts: TwoTexts::Refuse,
        is_centre: true,
    };
    for kind in 0..16_u32 {
        let of_kind = Message {
            // With everything else that esm_class says.
            esm_class: 0xC3 | kind << 2,
            ..message()
        };
        let expected = match kind {
            0 | 2 | 4 => Ok(()),
            _ => Err(CommandStatus::ESME_RINVESMCLASS),
        };
        assert_eq!(enter(&mut of_kind.clone(), ESME), expected, "{kind:#06b}");
        assert_eq!(enter(&mut of_kind.clone(), centre), Ok(()));
        assert_eq!(enter(&mut of_kind.clone(), Bringer::Operator), Ok(()));
    }
    for (tag, value) in [
        (tag::RECEIPTED_MESSAGE_ID, &b"1\0"[..]),
        (tag::MESSAGE_STATE, &[2]),
        // Of a length that it does not have.
        (tag::MESSAGE_STATE, &[]),
    ] {
        let marked = with(&[(0x1400, b"x"), (tag, value)]);
        let refused = Err(CommandStatus::ESME_RTLVNOTALLWD);
        assert_eq!(enter(&mut marked.clone(), ESME), refused);
        assert_eq!(enter(&mut marked.clone(), centre), Ok(()));
        assert_eq!(enter(&mut marked.clone(), Bringer::Operator), Ok(()));
    }
}

#[test]
fn of_two_texts_one_is_left() {
    const PAYLOAD: u16 = tag::MESSAGE_PAYLOAD;
    let vendor: (u16, &[u8]) = (0x1400, b"x");
    let short = |message: Message| Message {
        short_message: Bytes::from_static(b"short"),
        ..message
    };
    let both = short(with(&[(PAYLOAD, b"payload"), vendor]));
    let twice = with(&[(PAYLOAD, b"first"), vendor, (PAYLOAD, b"second")]);
    let all = short(twice.clone());
    let refused = Err(CommandStatus::ESME_RINVTLVSTREAM);
    for given in [&both, &twice, &all] {
        assert_eq!(enter(&mut given.clone(), ESME), refused);
    }
    let payload_first = |text: &[u8]| {
        let left = with(&[vendor, (PAYLOAD, text)]);
        (Bytes::new(), left.tlvs)
    };
    let short_only = (Bytes::from_static(b"short"), with(&[vendor]).tlvs);
    for (given, bringer, expected) in [
        (&both, Bringer::Operator, short_only.clone()),
        (&all, Bringer::Operator, short_only.clone()),
        (&twice, Bringer::Operator, payload_first(b"first")),
        (&both, esme(TwoTexts::ShortMessage), short_only.clone()),
        (
            &twice,
            esme(TwoTexts::ShortMessage),
            payload_first(b"first"),
        ),
        (
            &both,
            esme(TwoTexts::MessagePayload),
            payload_first(b"payload"),
        ),
        (
            &all,
            esme(TwoTexts::MessagePayload),
            payload_first(b"first"),
        ),
    ] {
        let mut left = given.clone();
        assert_eq!(enter(&mut left, bringer), Ok(()));
        assert_eq!((left.short_message, left.tlvs), expected, "{bringer:?}");
    }
    let one = with(&[(PAYLOAD, b"payload"), vendor]);
    let mut entered = one.clone();
    assert_eq!(enter(&mut entered, ESME), Ok(()));
    assert_eq!(entered, one);
}

#[test]
fn times_are_written_as_the_standard_has_them() {
    // 14 November 2023, 22:13:20.
    let at = 1_700_000_000_000;
    for (given, written) in [
        (&b""[..], &b""[..]),
        (b"000001000000000R", b"000001000000000R"),
        (b"231114221320004+", b"231114221320004+"),
        // 12 characters, 17, a part missing, no sign, an offset of 14 hours, zeros.
        (b"231114221320", b"231114221320000+"),
        (b"2311142213200000+", b"231114221320000+"),
        (b"000001R", b"231114221320000+"),
        (b"000001000000000r", b"231114221320000+"),
        (b"231115121320056+", b"231114221320000+"),
        (b"000000000000000+", b""),
        (b"000000000000", b""),
        (b"0000000000000000", b""),
    ] {
        let mut message = Message {
            validity_period: given.to_vec(),
            expires_at: at,
            ..message()
        };
        write_times(&mut message);
        let shown = String::from_utf8_lossy(given);
        assert_eq!(message.validity_period, written, "{shown}");
    }
}

#[test]
fn what_waited_is_not_written_over_its_fields() {
    let pdu = || SubmitSm {
        source_addr: Bytes::from_static(b"123456789012345678901"),
        source_addr_ton: 9,
        ..SubmitSm::default()
    };
    let refused = Err(CommandStatus::ESME_RINVSRCADR);
    assert_eq!(leave(&mut pdu(), ADDRESS), refused);
    let mut as_data = pdu();
    assert_eq!(leave(&mut as_data, ADDRESS_OF_DATA_SM), Ok(()));
    assert_eq!(as_data.source_addr_ton, 0);
    let mut service = SubmitSm {
        service_type: Bytes::from_static(b"SERVICE"),
        ..SubmitSm::default()
    };
    let refused = Err(CommandStatus::ESME_RINVSERTYP);
    assert_eq!(leave(&mut service, ADDRESS), refused);
}
