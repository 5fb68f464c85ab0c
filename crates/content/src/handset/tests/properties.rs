//! Identities for any text, and that no octets make anything panic or reach a phone malformed.

use proptest::prelude::*;

use super::*;
use crate::compose::{self, TextAlphabet};
use crate::peer::gather::gather;
use smsc_sms::segment::{self, PartNumbering, Units};
use smsc_sms::tpdu::{SmsSubmit, TpduField, UserData, examine};
use smsc_sms::udh::{Concat, Element, UserDataHeader};
use smsc_sms::{Charset, DataCodingScheme, gsm7, ucs2};

/// Texts of the 7-bit alphabet and of any other, short and long.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9 @£\n\r{}€~^|\\\\\\[\\]]{0,500}",
        "\\PC{0,200}",
        prop::collection::vec(any::<char>(), 0..300).prop_map(String::from_iter),
    ]
}

fn long() -> impl Strategy<Value = LongMessages> {
    prop_oneof![Just(LongMessages::Udh), Just(LongMessages::Udh16)]
}

/// The text of messages that were received in any number of parts.
fn text_of_all(messages: &[Message]) -> Option<String> {
    match messages {
        [one] => text_of(one),
        parts => text_of(&gather(parts)?),
    }
}

/// User data as spans of a TPDU: from its length to its end.
fn user_data_of(kind: TpduKind, tpdu: &Bytes) -> Option<Bytes> {
    let spans = examine(kind, tpdu).notes.fields;
    let of_user_data = |field| matches!(field, TpduField::UserDataLength | TpduField::UserData);
    let mut found = spans.iter().filter(|span| of_user_data(span.field));
    let first = found.next()?.at;
    let end = found
        .next_back()
        .map_or(first + 1, |span| span.at + span.octets);
    Some(tpdu.slice(first..end))
}

/// A TP-DCS, and user data that fits it.
fn user_data() -> impl Strategy<Value = (u8, UserData)> {
    let elements = prop::collection::vec((0_u8..=255, 0_usize..9), 0..3);
    let body = prop::collection::vec(any::<u8>(), 0..100);
    (any::<u8>(), elements, body).prop_map(|(dcs, elements, mut body)| {
        let mut header = UserDataHeader::default();
        for (id, octets) in elements {
            let data = vec![id; octets].into();
            header.push(Element { id, data });
        }
        let parsed = DataCodingScheme::parse(dcs);
        if parsed.charset == Charset::Gsm7 && !parsed.compressed {
            body.iter_mut().for_each(|octet| *octet &= 0x7F);
        } else if body.len() % 2 == 1 {
            body.pop();
        }
        let body = body.into();
        (dcs, UserData { header, body })
    })
}

proptest! {
    /// text → message → SMS-DELIVERs → messages → text.
    #[test]
    fn a_text_reaches_a_phone_and_comes_back(text in text(), form in long(), id in any::<u64>()) {
        let mut message = Message { id, ..message(0, b"") };
        compose::text(&text, TextAlphabet::Auto, false).unwrap().carry(&mut message);
        let to = handsets(UnrepresentableRule::Refuse, form);
        let delivery = deliver(&message, &to, false).unwrap();
        prop_assert_eq!(delivery.changed, 0);
        let mut back = Vec::new();
        for tpdu in &delivery.tpdus {
            prop_assert!(tpdu.len() <= smsc_sms::tpdu::TPDU_MAX);
            prop_assert_eq!(&examine(TpduKind::Deliver, tpdu).notes.oddities[..], &[]);
            back.push(delivered(tpdu, PHONE).unwrap().0);
        }
        prop_assert_eq!(text_of_all(&back), Some(text));
    }

    /// text → SMS-SUBMITs → messages → SMS-DELIVERs → messages → text.
    #[test]
    fn a_text_of_a_phone_reaches_another(text in text(), wide in any::<bool>(), reference in any::<u16>()) {
        let (octets, units, data_coding) = match gsm7::encode(&text, Default::default()) {
            Ok(septets) => (septets, Units::Septets, 0),
            Err(_) => (ucs2::encode(&text), Units::Ucs2, 8),
        };
        let form = if wide { PartNumbering::Sixteen } else { PartNumbering::Eight };
        let parts = segment::split(&octets.into(), units, &UserDataHeader::default(), form).unwrap();
        let total = parts.len() as u8;
        let mut back = Vec::new();
        for (sequence, body) in (1..).zip(parts) {
            let mut header = UserDataHeader::default();
            if total > 1 {
                header.set_concat(Some(Concat { reference, wide, total, sequence }));
            }
            let submit = Tpdu::Submit(SmsSubmit {
                destination_address: smsc_sms::tpdu::TpduAddress::international(PHONE),
                data_coding,
                user_data: UserData { header, body },
                ..SmsSubmit::default()
            });
            let tpdu = Bytes::from(submit.encode().unwrap());
            let (message, _) = submitted(&tpdu, "447700900124", 0).unwrap();
            let delivery = deliver(&message, &Handsets::default(), false).unwrap();
            prop_assert_eq!(delivery.tpdus.len(), 1);
            prop_assert_eq!(user_data_of(TpduKind::Deliver, &delivery.tpdus[0]), user_data_of(TpduKind::Submit, &tpdu));
            back.push(delivered(&delivery.tpdus[0], PHONE).unwrap().0);
        }
        prop_assert_eq!(text_of_all(&back), Some(text));
    }

    /// Whatever class, character set and header it has.
    #[test]
    fn user_data_of_a_phone_goes_on_octet_for_octet((data_coding, user_data) in user_data(), protocol_identifier in any::<u8>()) {
        let submit = Tpdu::Submit(SmsSubmit { data_coding, user_data, protocol_identifier, ..SmsSubmit::default() });
        let tpdu = Bytes::from(submit.encode().unwrap());
        let (message, _) = submitted(&tpdu, PHONE, 0).unwrap();
        let delivery = deliver(&message, &Handsets::default(), false).unwrap();
        let sent = read(&delivery.tpdus[0]);
        prop_assert_eq!((sent.data_coding, sent.protocol_identifier), (data_coding, protocol_identifier));
        prop_assert_eq!(user_data_of(TpduKind::Deliver, &delivery.tpdus[0]), user_data_of(TpduKind::Submit, &tpdu));
    }

    /// The fields of SMPP alone say the same as the TPDU: what is left when a text is not that of the TPDU any more.
    #[test]
    fn the_fields_of_smpp_carry_the_text_of_a_tpdu((data_coding, user_data) in user_data()) {
        let submit = Tpdu::Submit(SmsSubmit { data_coding, user_data: user_data.clone(), ..SmsSubmit::default() });
        let tpdu = Bytes::from(submit.encode().unwrap());
        let (mut message, _) = submitted(&tpdu, PHONE, 0).unwrap();
        prop_assert_eq!(text_of(&message), user_data.text(data_coding));
        message.tpdu = Vec::new();
        if let Ok(delivery) = deliver(&message, &Handsets::default(), false) {
            let sent = read(&delivery.tpdus[0]);
            prop_assert_eq!(sent.user_data.text(sent.data_coding), user_data.text(data_coding));
        }
    }

    #[test]
    fn no_octets_panic_or_reach_a_phone_malformed(octets in prop::collection::vec(any::<u8>(), 0..200), of_phone in any::<bool>()) {
        let octets = Bytes::from(octets);
        let message = if of_phone {
            submitted(&octets, PHONE, 0).map(|(message, _)| message)
        } else {
            delivered(&octets, PHONE).map(|(message, _)| message)
        };
        if let Ok(message) = message
            && let Ok(delivery) = deliver(&message, &Handsets::default(), false)
        {
            for tpdu in &delivery.tpdus {
                prop_assert_eq!(&examine(TpduKind::Deliver, tpdu).notes.oddities[..], &[]);
            }
        }
        let _ = order(&octets);
        let _ = crate::text_of(&Message { tpdu: octets.to_vec(), ..Message::default() });
    }

    #[test]
    fn no_message_panics(data_coding in any::<u8>(), esm_class in any::<u8>(), octets in prop::collection::vec(any::<u8>(), 0..255), tlvs in prop::collection::vec(any::<u8>(), 0..30)) {
        let message = Message { esm_class: esm_class.into(), tlvs: tlvs.into(), ..message(data_coding.into(), &octets) };
        if let Ok(delivery) = deliver(&message, &Handsets::default(), true) {
            for tpdu in &delivery.tpdus {
                prop_assert_eq!(&examine(TpduKind::Deliver, tpdu).notes.oddities[..], &[]);
            }
        }
        let _ = report(&message, &Handsets::default(), false);
    }
}
