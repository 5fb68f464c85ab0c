//! Messages of accounts as SMS-DELIVERs.

use super::*;
use crate::UDHI;
use smsc_sms::Language;
use smsc_sms::udh::Concat;

/// The SMS-DELIVERs of a message, and how many characters were changed.
fn sent(message: &Message, to: &Handsets) -> (Vec<smsc_sms::tpdu::Deliver>, usize) {
    let delivery = deliver(message, to, false).unwrap();
    (delivery.tpdus.iter().map(read).collect(), delivery.changed)
}

fn only(message: &Message) -> smsc_sms::tpdu::Deliver {
    let (mut all, changed) = sent(message, &Handsets::default());
    assert_eq!((all.len(), changed), (1, 0));
    all.remove(0)
}

#[test]
fn a_message_is_an_sms_deliver_octet_by_octet() {
    let to = Handsets::default();
    let written = |message: &Message, to, more| {
        let delivery = deliver(message, to, more).unwrap();
        assert_eq!(delivery.changed, 0);
        let all: Vec<String> = delivery.tpdus.iter().map(|tpdu| hex(tpdu)).collect();
        all.join(" ")
    };
    let hello = message(0, b"How are you?");
    let head = "0B911346610089F60000";
    // Widely published, with a zone of minus zero.
    assert_eq!(
        written(&hello, &to, false),
        format!("04{head}208062917314000CC8F71D14969741F977FD07")
    );
    // TP-MMS is 0 when more messages wait (§9.2.3.2); TP-SRI, TP-RP.
    assert!(written(&hello, &to, true).starts_with("00"));
    let asked = Message {
        registered_delivery: 1,
        esm_class: 0x80,
        ..hello.clone()
    };
    assert!(written(&asked, &to, false).starts_with("A40B"));
    // Five and a half hours behind UTC: quarters in semi-octets, the sign in the first (§9.2.3.11).
    let behind = Handsets {
        zone: -22,
        ..Handsets::default()
    };
    assert_eq!(
        written(&hello, &behind, false),
        format!("04{head}208062417014 2A0CC8F71D14969741F977FD07").replace(' ', "")
    );
    let named = Message {
        source_ton: 5,
        source: Bytes::from_static(b"How are"),
        protocol_id: 0x41,
        accepted_at: at(LATER),
        ..message(8, b"\x04\x16")
    };
    assert_eq!(
        written(&named, &to, false),
        "040DD0C8F71D149697014108621112500351000204 16".replace(' ', "")
    );
}

#[test]
fn a_data_coding_is_the_scheme_that_means_the_same() {
    for (data_coding, octets, dcs, text) in [
        (0, &b"a@"[..], 0x00, Some("a¡")),
        (1, b"a@", 0x00, Some("a@")),
        (3, b"\xe9", 0x00, Some("é")),
        // Latin-1 that the 7-bit alphabet lacks.
        (3, b"\xea", 0x08, Some("ê")),
        (2, b"\x01\xff", 0x04, None),
        (4, b"\x01\xff", 0x04, None),
        (8, b"\x04\x16", 0x08, Some("Ж")),
        (0x10, b"a", 0x10, Some("a")),
        (0x14, b"\xff", 0x14, None),
        (0x18, b"\x04\x16", 0x18, Some("Ж")),
        (0x24, b"\xff", 0x24, None),
        (0xC8, b"a", 0xC8, Some("a")),
        (0xE1, b"\x04\x16", 0xE1, Some("Ж")),
        (0xF2, b"a", 0xF2, Some("a")),
        (0xF6, b"\xff", 0xF6, None),
    ] {
        let deliver = only(&message(data_coding, octets));
        assert_eq!(deliver.data_coding, dcs, "{data_coding:#04x}");
        let found = deliver.user_data.text(dcs);
        assert_eq!(found.as_deref(), text, "{data_coding:#04x}");
    }
    for data_coding in [5, 6, 7, 0x0E, 0x80] {
        let refused = deliver(&message(data_coding, b"a"), &Handsets::default(), false);
        let expected = HandsetRefusal::Coding(data_coding as u8);
        assert_eq!(refused, Err(expected), "JIS, Cyrillic, Hebrew and others");
    }
}

#[test]
fn what_a_handset_cannot_show_follows_the_policy() {
    let in_latin = message(3, b"a\xea");
    let with = |policy| handsets(policy, LongMessages::Udh);
    for (policy, dcs, text, changed) in [
        (UnrepresentableRule::Ucs2, 8, "aê", 0),
        (UnrepresentableRule::Transliterate, 0, "ae", 1),
        (UnrepresentableRule::Replace, 0, "a?", 1),
    ] {
        let (all, found) = sent(&in_latin, &with(policy));
        assert_eq!((all[0].data_coding, found), (dcs, changed));
        assert_eq!(all[0].user_data.text(dcs).as_deref(), Some(text));
    }
    let refused = check(&in_latin, &with(UnrepresentableRule::Refuse)).unwrap_err();
    assert_eq!(refused.to_string(), "its alphabet does not have 'ê'");
    // A national table, where the interface has handsets that know it.
    let mut turkish = with(UnrepresentableRule::Ucs2);
    turkish.encoding.languages = vec![Language::Turkish];
    let dotless = Message {
        alphabet: smsc_proto::Alphabet::Utf8.into(),
        ..message(0, "ığ".as_bytes())
    };
    let (all, _) = sent(&dotless, &turkish);
    assert_eq!(all[0].data_coding, 0);
    assert_eq!(all[0].user_data.text(0).as_deref(), Some("ığ"));
    // Octets that are no septets, and half a character of UCS-2.
    for (broken, text) in [
        (message(0, b"a\xffb"), "a?b"),
        (message(8, b"\x04\x16\x04"), "Ж\u{FFFD}"),
    ] {
        let (all, changed) = sent(&broken, &with(UnrepresentableRule::Ucs2));
        let dcs = all[0].data_coding;
        assert_eq!(all[0].user_data.text(dcs).as_deref(), Some(text));
        assert_eq!(changed, 1);
        assert!(check(&broken, &with(UnrepresentableRule::Refuse)).is_err());
    }
}

#[test]
fn a_long_text_is_numbered_and_nothing_is_cut() {
    let text = "0123456789".repeat(40);
    let long = with_tlv(message(0, b""), tag::MESSAGE_PAYLOAD, text.as_bytes());
    for (form, is_wide, counts) in [
        (LongMessages::Udh, false, [153, 153, 94]),
        (LongMessages::AsIs, false, [153, 153, 94]),
        (LongMessages::Udh16, true, [152, 152, 96]),
    ] {
        let (all, _) = sent(&long, &handsets(UnrepresentableRule::Ucs2, form));
        let lengths: Vec<usize> = all.iter().map(|one| one.user_data.body.len()).collect();
        assert_eq!(lengths, counts);
        let parts: Vec<Concat> = (all.iter())
            .map(|one| one.user_data.header.concat().unwrap())
            .collect();
        assert!(
            parts
                .iter()
                .all(|part| part.wide == is_wide && part.total == 3)
        );
        assert!(
            parts
                .windows(2)
                .all(|two| two[0].reference == two[1].reference)
        );
        let more: Vec<bool> = all.iter().map(|one| one.more_messages).collect();
        assert_eq!(more, [true, true, false], "TP-MMS until the last");
    }
    let next = Message {
        id: long.id + (1 << 20),
        ..long.clone()
    };
    let to = Handsets::default();
    let reference = |message: &Message| sent(message, &to).0[0].user_data.header.concat();
    assert_eq!(
        reference(&long),
        reference(&long),
        "the same at each attempt"
    );
    assert_ne!(reference(&long), reference(&next));
    let endless = with_tlv(message(0, b""), tag::MESSAGE_PAYLOAD, &[b'a'; 153 * 256]);
    let too_long = HandsetRefusal::Text(crate::peer::divide::DivideRefusal::TooLong);
    assert_eq!(check(&endless, &to), Err(too_long));
}

#[test]
fn a_part_keeps_its_header_or_gets_the_one_that_its_fields_say() {
    // Ports before the number of the part: octet for octet (§9.2.3.24).
    let header = b"\x0b\x05\x04\x0b\x84\x23\xf0\x00\x03\x2a\x02\x01";
    let part = Message {
        esm_class: UDHI,
        ..message(4, &[&header[..], b"\x01\x02"].concat())
    };
    let deliver = only(&part);
    assert_eq!(deliver.user_data.header.encode(), header);
    assert_eq!(&deliver.user_data.body[..], [1, 2]);
    // sar_ parameters (SMPP 3.4 §5.3.2.22-24).
    let mut fields = message(0, b"second");
    for (tag, value) in [
        (tag::SAR_MSG_REF_NUM, &[0x01, 0x2A][..]),
        (tag::SAR_TOTAL_SEGMENTS, &[2]),
        (tag::SAR_SEGMENT_SEQNUM, &[2]),
    ] {
        fields = with_tlv(fields, tag, value);
    }
    for (form, header) in [
        (LongMessages::Udh, &b"\x05\x00\x03\x2a\x02\x02"[..]),
        (LongMessages::Udh16, b"\x06\x08\x04\x01\x2a\x02\x02"),
    ] {
        let (all, _) = sent(&fields, &handsets(UnrepresentableRule::Ucs2, form));
        assert_eq!(all[0].user_data.header.encode(), header);
        assert_eq!(all[0].user_data.text(0).as_deref(), Some("second"));
    }
    let full = Message {
        short_message: vec![b'a'; 160].into(),
        ..fields
    };
    assert_eq!(
        check(&full, &Handsets::default()),
        Err(HandsetRefusal::Part)
    );
}

#[test]
fn what_tlvs_say_to_a_handset_is_said_by_header_and_scheme() {
    // Ports (§9.2.3.24.4).
    let ported = with_tlv(message(4, b"\x01"), tag::DEST_PORT, &[0x0B, 0x84]);
    let header = b"\x06\x05\x04\x0b\x84\x00\x00";
    assert_eq!(only(&ported).user_data.header.encode(), header);
    let ported = with_tlv(ported, tag::SOURCE_PORT, &[0x23, 0xF0]);
    let header = b"\x06\x05\x04\x0b\x84\x23\xf0";
    assert_eq!(only(&ported).user_data.header.encode(), header);
    // Those of a header win.
    let own = Message {
        esm_class: UDHI,
        short_message: Bytes::from_static(b"\x04\x04\x02\x01\x02x"),
        ..ported
    };
    assert_eq!(only(&own).user_data.header.elements().len(), 1);
    // A waiting indication (3GPP TS 23.038 §4): active, fax; inactive, voicemail; in UCS-2.
    for (data_coding, facility, dcs) in [(0, 0x81, 0xD9), (0, 0x00, 0xD0), (8, 0x82, 0xEA)] {
        let waiting = message(data_coding, b"ab");
        let waiting = with_tlv(waiting, tag::MS_MSG_WAIT_FACILITIES, &[facility]);
        assert_eq!(only(&waiting).data_coding, dcs);
    }
}

#[test]
fn a_name_that_no_address_can_hold_is_refused() {
    let named = |name: &'static str| Message {
        source_ton: 5,
        source: Bytes::from_static(name.as_bytes()),
        ..message(0, b"a")
    };
    assert_eq!(check(&named("Hello World"), &Handsets::default()), Ok(()));
    let refused = check(&named("Hello, World"), &Handsets::default());
    let said = refused.unwrap_err().to_string();
    assert_eq!(said, "TP-OA: 12 septets; 11 are possible");
    let numbered = Message {
        source: Bytes::from_static(b"123456789012345678901"),
        ..message(0, b"a")
    };
    assert!(check(&numbered, &Handsets::default()).is_err(), "21 digits");
}

#[test]
fn a_tpdu_goes_on_as_it_came() {
    let now = at(LATER);
    let to = Handsets::default();
    // DCS 0xF1, a header with an unknown element, spare bits that are not zero behind the last septet.
    let given = octets(
        "61070891946100104 1F10B0470023132E8329BFDF6"
            .replace(' ', "")
            .as_str(),
    );
    let (mut message, _) = submitted(&given, PHONE, now).unwrap();
    message.accepted_at = now;
    let delivery = deliver(&message, &to, false).unwrap();
    let written = hex(&delivery.tpdus[0]);
    assert!(
        written.ends_with("41F1621112500351000B0470023132E8329BFDF6"),
        "{written}"
    );
    assert!(written.starts_with("64"), "TP-UDHI and TP-SRI: {written}");
    // Cut short by the network: as far as it goes, as a TPDU that is whole.
    let cut = octets("010008919461001000000AC8329BFD06");
    let (cut, _) = submitted(&cut, PHONE, now).unwrap();
    let written = deliver(&cut, &to, false).unwrap();
    assert_eq!(
        read(&written.tpdus[0]).user_data.text(0).as_deref(),
        Some("Hello")
    );
    // A later text counts.
    let replaced = Message {
        tpdu: Vec::new(),
        short_message: Bytes::from_static(b"new"),
        esm_class: 0,
        ..message
    };
    let written = deliver(&replaced, &to, false).unwrap();
    assert_eq!(
        read(&written.tpdus[0]).user_data.text(0).as_deref(),
        Some("new")
    );
    // An SMS-DELIVER keeps the time of its own service centre, its loop prevention and its class.
    let given = octets("0C0B911346610089F60010208062917314000CC8F71D14969741F977FD07");
    let (passed, _) = delivered(&given, PHONE).unwrap();
    let written = deliver(&passed, &to, false).unwrap();
    assert_eq!(hex(&written.tpdus[0]), hex(&given));
}
