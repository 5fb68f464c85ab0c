//! Texts longer than one short message: their parts reach the handset in one dialogue and are one message to the sender.

use serde_json::json;
use smsc::smpp::{SubmitSm, tag};
use smsc::sms::{Shifts, gsm7};

use super::{DELIVERED, MapTown, NEVER};
use crate::harness::{stat_of, submit};

const SENTENCE: &str = "The quick brown fox jumps over the lazy dog. ";

#[test]
fn a_long_text_goes_in_one_dialogue_and_is_one_message_to_its_sender() {
    let town = MapTown::start(NEVER, "");
    let (number, imsi) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    let text = SENTENCE.repeat(12);
    let mut message = submit(&number, "");
    let octets = gsm7::encode(&text, Shifts::default()).unwrap();
    message.tlvs.push(tag::MESSAGE_PAYLOAD, &octets);
    let id = esme.submit(message);
    assert_eq!(stat_of(&esme.deliver()), (id.clone(), DELIVERED));
    assert_eq!(town.smsc.wait_for_final(&id)["state"], "DELIVERED");

    // Parts of 153 characters.
    let parts = town.network.taken(&imsi);
    assert_eq!(parts.len(), text.len().div_ceil(153));
    let together: String = parts.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(together, text);
    assert!(parts.iter().all(|part| part.dialogue == parts[0].dialogue));
    let numbers: Vec<u64> = (parts.iter())
        .map(|part| part.part.as_ref().unwrap()["number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    let more: Vec<bool> = parts.iter().map(|part| part.more).collect();
    assert_eq!(more, [true, true, true, false]);
    town.assert_content(&[SENTENCE.trim()]);
}

#[test]
fn what_does_not_fit_beside_the_dialogue_portion_follows_an_empty_begin() {
    let town = MapTown::start(NEVER, "");
    let (number, imsi) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    // Short ones go with the begin; the longest there is, 140 octets of data, needs its own message.
    for octets in [10, 80, 140] {
        let message = SubmitSm {
            data_coding: 4,
            short_message: vec![0xA5; octets].into(),
            ..submit(&number, "")
        };
        let id = esme.submit(message);
        assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    }
    let texts = town.network.texts(&imsi);
    let lengths: Vec<usize> = texts.iter().map(|text| text.len() / 2).collect();
    assert_eq!(lengths, [10, 80, 140]);
    let dialogues = town.network.dialogues();
    let begun = |at: usize| {
        let taken = &town.network.taken(&imsi)[at];
        dialogues[taken.dialogue].empty_begin
    };
    assert!(!begun(0), "a short message goes with the begin");
    // Whatever the SMSC decides for the others, no message is longer than a link of 64 kbit/s carries.
    assert!(
        begun(2) || town.network.count("sccp_17") > 0,
        "the longest one does not fit"
    );
    let longest = town.network.count("longest_sccp");
    assert!(longest <= 268, "{longest} octets");
    town.assert_content(&[]);
}
