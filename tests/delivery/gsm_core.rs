//! Handsets of a real GSM core, OsmoHLR and OsmoMSC with phones at the A interface: messages reach them and come from
//! them, wait while they are away or full, and survive the end of everything in between.

mod crash;
mod many;
mod names;

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use smsc::smpp::{SubmitSm, tag};
use smsc::sms::segment::{self, PartNumbering, Units};
use smsc::sms::tpdu::{SmsSubmit, Tpdu, TpduAddress, UserData};
use smsc::sms::udh::{Concat, UserDataHeader};
use smsc::sms::{Shifts, gsm7, ucs2};

use crate::harness::gsm::{Answer, Bsc, GsmCore, Phone, assert_well_formed};
use crate::harness::{Peer, Proxy, Smsc, stat_of, submit, until};

/// The IPA name of node 0.
const NAME: &str = "SMSC-0";
const CENTRE: &str = "49160000";
/// message_state (SMPP 3.4 §5.2.28).
const DELIVERED: u32 = 2;
const UNDELIVERABLE: u32 = 5;
/// RP-Cause "memory capacity exceeded", and "unassigned number".
const MEMORY: u8 = 22;
const UNASSIGNED: u8 = 1;
/// A retry that no test waits for, and one that comes soon.
const NEVER: &str = "retry = { delays = [\"1h\"] }";
const SOON: &str = "retry = { delays = [\"300ms\"] }";
/// Text of more than one short message in the default alphabet and in UCS-2.
const SENTENCE: &str = "The quick brown fox jumps over the lazy dog. ";
const IN_RUSSIAN: &str = "Съешь же ещё этих мягких французских булок. ";

/// A core, an SMSC at its HLR behind a recorder, and a BSC.
struct Town {
    core: GsmCore,
    recorder: Proxy,
    smsc: Smsc,
    bsc: Bsc,
}

// === impl Town ===

impl Town {
    /// `keys` are those of the interface; numbers that begin with 4916 are its.
    fn start(keys: &str) -> Self {
        let core = GsmCore::start(&[NAME]);
        let recorder = Proxy::to(core.gsup());
        let smsc = Smsc::new()
            .account_with("test", "test", "addresses = [\"12345\"]")
            .account("handsets", "handsets")
            .toml(&format!("[imsi]\nhlr = \"{}\"", core.control()))
            .toml(&format!(
                "[[gsm]]\nname = \"home\"\naddress = \"{}\"\nsmsc_address = \"{CENTRE}\"\n\
                 account = \"handsets\"\nreconnect = [\"200ms\"]\n{keys}",
                recorder.address()
            ))
            .route("4916", "gsm:home")
            .start();
        let bsc = Bsc::connect(&core);
        let town = Self {
            core,
            recorder,
            smsc,
            bsc,
        };
        town.until_connected();
        town
    }

    /// Waits until the HLR knows the SMSC.
    fn until_connected(&self) {
        until("the SMSC at the HLR", || {
            self.core.is_connected(NAME).then_some(())
        });
    }

    /// A subscriber whose phone is switched off: the number, and the phone.
    fn subscriber(&self, number: usize) -> (String, Phone) {
        let (msisdn, imsi) = (format!("4916{number:06}"), format!("001010{number:09}"));
        self.core.subscriber(&imsi, &msisdn);
        (msisdn, self.bsc.phone(&imsi))
    }

    /// A subscriber whose phone is switched on.
    fn attached(&self, number: usize) -> (String, Phone) {
        let (msisdn, phone) = self.subscriber(number);
        phone.attach();
        (msisdn, phone)
    }

    fn esme(&self) -> Peer {
        Peer::bind(self.smsc.smpp(), "test", "test")
    }

    fn message(&self, id: &str) -> Value {
        self.smsc.admin().get(&format!("/v1/messages/{id}"))
    }

    /// Waits until an attempt has ended with this status.
    fn until_tried(&self, id: &str, status: &str) {
        until(&format!("{status} for {id}"), || {
            let message = self.message(id);
            let mut attempts = message["history"].as_array()?.iter();
            attempts.any(|one| one["status"] == status).then_some(())
        });
    }
}

/// A text of a phone, in as many messages as it needs.
fn from_phone(to: &str, text: &str) -> Vec<Tpdu> {
    let septets = gsm7::encode(text, Shifts::default());
    let (data_coding, units, octets) = match septets {
        Ok(septets) => (0, Units::Septets, Bytes::from(septets)),
        Err(_) => (8, Units::Ucs2, Bytes::from(ucs2::encode(text))),
    };
    let parts = segment::split(
        &octets,
        units,
        &UserDataHeader::default(),
        PartNumbering::Eight,
    )
    .unwrap();
    let message = |(sequence, body): (u8, &Bytes)| {
        let mut header = UserDataHeader::default();
        let concat = (parts.len() > 1).then_some(Concat {
            reference: 9,
            wide: false,
            total: parts.len() as u8,
            sequence,
        });
        assert!(header.set_concat(concat));
        Tpdu::Submit(SmsSubmit {
            message_reference: sequence,
            destination_address: TpduAddress::international(to),
            data_coding,
            user_data: UserData {
                header,
                body: body.clone(),
            },
            ..SmsSubmit::default()
        })
    };
    (1..).zip(&parts).map(message).collect()
}

/// The text of messages that came to an ESME.
fn text_of(message: &SubmitSm) -> String {
    let (_, body) = match message.esm_class & 0x40 {
        0 => (UserDataHeader::default(), message.short_message.clone()),
        _ => UserDataHeader::split(&message.short_message).unwrap(),
    };
    match message.data_coding {
        8 => ucs2::decode(&body),
        _ => gsm7::decode(&body, Shifts::default()),
    }
}

#[test]
fn a_message_reaches_the_phone_and_its_receipt_the_sender() {
    let town = Town::start(NEVER);
    let (number, phone) = town.attached(1);
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, "hello"));
    phone.wait_for(1);
    assert_eq!(phone.texts(), ["hello"]);
    assert_eq!(phone.messages()[0].originating_address.text, "12345");
    assert_eq!(stat_of(&esme.deliver()), (id.clone(), DELIVERED));
    assert_eq!(town.smsc.wait_for_final(&id)["state"], "DELIVERED");

    // Long ones, in both alphabets.
    for (sentence, data_coding) in [(SENTENCE, 0), (IN_RUSSIAN, 8)] {
        let before = phone.texts().len();
        let text = sentence.repeat(8);
        let octets = match data_coding {
            8 => ucs2::encode(&text),
            _ => gsm7::encode(&text, Shifts::default()).unwrap(),
        };
        let mut message = SubmitSm {
            data_coding,
            ..submit(&number, "")
        };
        message.tlvs.push(tag::MESSAGE_PAYLOAD, &octets);
        let id = esme.submit(message);
        assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
        assert_eq!(phone.texts()[before..].concat(), text);
        assert!(phone.texts().len() > before + 1);
    }
    assert_well_formed(&town.recorder, &["hello", SENTENCE.trim()]);
}

#[test]
fn a_message_of_a_phone_reaches_an_esme_and_another_phone() {
    let town = Town::start(NEVER);
    let (number, phone) = town.attached(1);
    let (other_number, other) = town.attached(2);
    let mut esme = town.esme();
    let long = SENTENCE.repeat(5);
    let in_russian = IN_RUSSIAN.repeat(4);
    for text in ["to an ESME", &long, &in_russian] {
        let parts = from_phone("12345", text);
        for part in &parts {
            assert_eq!(phone.send(CENTRE, part), Ok(()));
        }
        let got: Vec<SubmitSm> = parts.iter().map(|_| esme.deliver()).collect();
        let said: String = got.iter().map(text_of).collect();
        assert_eq!(said, text);
        assert!(got.iter().all(|one| one.source_addr == number));
    }
    for text in ["to a friend", &long, &in_russian] {
        let before = other.texts().len();
        let parts = from_phone(&other_number, text);
        for part in &parts {
            assert_eq!(phone.send(CENTRE, part), Ok(()));
        }
        other.wait_for(before + parts.len());
        assert_eq!(other.texts()[before..].concat(), text);
        let from = &other.messages()[before].originating_address.text;
        assert_eq!(from, &number);
    }
    let nowhere = &from_phone("999", "nowhere")[0];
    assert_eq!(phone.send(CENTRE, nowhere), Err(UNASSIGNED));
    assert_well_formed(&town.recorder, &["to an ESME", "to a friend", "nowhere"]);
}

#[test]
fn a_full_phone_gets_its_messages_when_it_says_that_it_has_memory() {
    let town = Town::start(NEVER);
    let (number, phone) = town.attached(1);
    let mut esme = town.esme();
    phone.answers(Answer::Refuse(MEMORY));
    let texts: Vec<String> = (0..5).map(|at| format!("number {at}")).collect();
    let ids: Vec<String> = texts
        .iter()
        .map(|text| esme.submit(submit(&number, text)))
        .collect();
    town.until_tried(&ids[0], "RP_MEMORY_CAPACITY_EXCEEDED");
    assert_eq!((phone.refused(), phone.texts().len()), (1, 0));
    phone.answers(Answer::Take);
    // A phone says it again when the network fails (3GPP TS 24.011 §5.3.2).
    until("the network to hear that it has memory", || {
        phone.memory_available().ok()
    });
    phone.wait_for(5);
    assert_eq!(phone.texts(), texts);
    assert_well_formed(&town.recorder, &["number 0", "number 4"]);
}

#[test]
fn an_unknown_subscriber_is_final_and_one_who_is_away_is_waited_for() {
    let town = Town::start(NEVER);
    let mut esme = town.esme();
    let id = esme.submit(submit("4916999999", "to nobody"));
    assert_eq!(stat_of(&esme.deliver()), (id, UNDELIVERABLE));

    // Known, and never seen by the MSC.
    let (number, phone) = town.subscriber(1);
    let id = esme.submit(submit(&number, "to one who is away"));
    town.until_tried(&id, "GMM_IMPLICITLY_DETACHED");
    // A location update alone is told to nobody; that the phone has memory is.
    phone.attach();
    phone.memory_available().unwrap();
    phone.wait_for(1);
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));

    phone.detach();
    let id = esme.submit(submit(&number, "to one who left"));
    // The MSC has forgotten the phone, and the HLR still asks it.
    town.until_tried(&id, "GMM_IMSI_UNKNOWN");
    phone.attach();
    phone.memory_available().unwrap();
    phone.wait_for(2);
    assert_eq!(phone.texts(), ["to one who is away", "to one who left"]);
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    assert_well_formed(&town.recorder, &["to one who is away", "to one who left"]);
}

#[test]
fn messages_survive_the_msc_and_the_hlr() {
    let mut town = Town::start(&format!("{SOON}\nrequest_timeout = \"3s\""));
    let (number, phone) = town.attached(1);
    let mut esme = town.esme();
    town.core.kill_msc();
    let id = esme.submit(submit(&number, "while the MSC is away"));
    town.until_tried(&id, "GSUP_ROUTING_ERROR");
    town.core.start_msc();
    town.bsc.reset();
    phone.attach();
    phone.wait_for(1);
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));

    town.core.kill_hlr();
    let id = esme.submit(submit(&number, "while the HLR is away"));
    town.core.start_hlr();
    town.until_connected();
    town.core.until_msc_connected();
    phone.wait_for(2);
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    let (other_number, other) = town.attached(2);
    esme.submit(submit(&other_number, "to another"));
    other.wait_for(1);
    let texts = [
        "while the MSC is away",
        "while the HLR is away",
        "to another",
    ];
    assert_well_formed(&town.recorder, &texts);
}

#[test]
fn a_phone_that_does_not_hear_its_paging_is_tried_again() {
    let town = Town::start(&format!("{SOON}\nrequest_timeout = \"1s\""));
    let (number, phone) = town.attached(1);
    phone.answers(Answer::Silence);
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, "hello"));
    until("a paging", || (phone.paged() > 0).then_some(()));
    // The MSC says nothing of it: the request has a time of its own.
    town.until_tried(&id, "GSUP_NO_ANSWER");
    phone.answers(Answer::Take);
    phone.wait_for(1);
    let receipt = esme.deliver();
    assert_eq!(stat_of(&receipt), (id, DELIVERED));
    assert!(phone.texts().iter().all(|text| text == "hello"));
    assert_eq!(
        esme.next(Duration::from_millis(300)).err(),
        Some(crate::harness::PeerError::Silence)
    );
}
