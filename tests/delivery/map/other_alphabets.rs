//! Texts in UCS-2, short and in parts, from and to handsets.

use serde_json::json;
use smsc::smpp::{SubmitSm, tag};
use smsc::sms::tpdu::{SmsSubmit, Tpdu, TpduAddress, UserData};
use smsc::sms::ucs2;

use super::{DELIVERED, MapTown, NEVER};
use crate::harness::{stat_of, submit, submit_ucs2};

const IN_RUSSIAN: &str = "Съешь же ещё этих мягких французских булок. ";
const SMILE: &str = "Привет 😀";

#[test]
fn texts_in_ucs_2_arrive_as_they_were_written() {
    let town = MapTown::start(NEVER, "");
    let (number, imsi) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    let id = esme.submit(submit_ucs2(&number, SMILE));
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    let got = town.network.wait_for(&imsi, 1).remove(0);
    assert_eq!((got.text.as_str(), got.data_coding), (SMILE, 8));

    let text = format!("{}{SMILE}", IN_RUSSIAN.repeat(8));
    let mut message = SubmitSm {
        data_coding: 8,
        ..submit(&number, "")
    };
    message
        .tlvs
        .push(tag::MESSAGE_PAYLOAD, &ucs2::encode(&text));
    let id = esme.submit(message);
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    let parts = town.network.taken(&imsi).split_off(1);
    assert!(parts.len() > 4, "{} parts", parts.len());
    let together: String = parts.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(together, text);
    town.assert_content(&[SMILE, IN_RUSSIAN.trim()]);
}

#[test]
fn a_handset_sends_a_text_in_ucs_2() {
    let town = MapTown::start(NEVER, "");
    let (sender, _) = town.network.subscriber(1, json!({}));
    let (other, imsi) = town.network.subscriber(2, json!({}));
    let mut esme = town.esme();
    let to = |address: &str| {
        let user_data = UserData {
            body: ucs2::encode(SMILE).into(),
            ..UserData::default()
        };
        let submit = SmsSubmit {
            destination_address: TpduAddress::international(address),
            data_coding: 8,
            user_data,
            ..SmsSubmit::default()
        };
        Tpdu::Submit(submit).encode().unwrap()
    };
    let answer = town.network.submit(&sender, &to("12345"), 3);
    assert_eq!(answer["dialogue"], "end", "{answer}");
    let got = esme.deliver();
    assert_eq!(
        (got.data_coding, ucs2::decode(&got.short_message)),
        (8, SMILE.to_owned())
    );
    town.network.submit(&sender, &to(&other), 3);
    assert_eq!(town.network.wait_for(&imsi, 1)[0].text, SMILE);
    town.assert_content(&[SMILE]);
}
