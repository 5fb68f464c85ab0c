//! The crate `gsup` as a service centre at a real GSM core (OsmoHLR, OsmoMSC): what it writes reaches phones,
//! what it reads is what the core says, and tshark finds every frame well formed.

use crate::harness::Proxy;
use crate::harness::gsm::{Answer, Bsc, GsmCore, Phone, ServiceCentre, assert_well_formed};
use smsc::gsup::message::{ALERT_MEMORY, REFERENCE_UNKNOWN};
use smsc::gsup::{GsupMessage, MessageType, SmRpAddress};
use smsc::sms::segment::{self, PartNumbering, Units};
use smsc::sms::tpdu::{Deliver, SmsSubmit, TimeStamp, Tpdu, TpduAddress, UserData};
use smsc::sms::udh::{Concat, UserDataHeader};
use smsc::sms::{Shifts, gsm7, ucs2};

const NAME: &str = "SMSC-1";
const CENTRE: &str = "447785016005";
const IMSI: &str = "001010000000001";
const MSISDN: &str = "447700900123";
/// GMM causes (3GPP TS 24.008 §10.5.5.14).
const IMSI_UNKNOWN: u8 = 0x02;
const DETACHED: u8 = 0x0A;
/// RP-Causes (3GPP TS 24.011 §8.2.5.4).
const MEMORY: u8 = 22;
const CONGESTION: u8 = 42;
/// TP-DCS of UCS-2.
const UCS2: u8 = 8;

/// A core with one phone that is known and not attached, and a service centre behind a recorder.
struct Lab {
    core: GsmCore,
    recorder: Proxy,
    centre: ServiceCentre,
    bsc: Bsc,
    phone: Phone,
}

#[test]
fn messages_reach_a_phone_and_its_answers_the_service_centre() {
    let mut lab = Lab::start();
    lab.phone.attach();
    let number = lab.send(IMSI, &text("a short one"));
    let result = lab.centre.answer_to(number);
    assert_eq!(result.message_type, MessageType::MT_FORWARD_SM_RESULT);
    assert_eq!(result.imsi, IMSI);
    assert_ne!(result.reference, Some(REFERENCE_UNKNOWN), "the MSC's own");

    let long = "Привет ".repeat(30);
    let octets = ucs2::encode(&long).into();
    let parts = segment::split(
        &octets,
        Units::Ucs2,
        &UserDataHeader::default(),
        PartNumbering::Eight,
    )
    .unwrap();
    for (sequence, body) in (1..).zip(&parts) {
        let mut header = UserDataHeader::default();
        assert!(header.set_concat(Some(Concat {
            reference: 7,
            wide: false,
            total: parts.len() as u8,
            sequence,
        })));
        let number = lab.send(
            IMSI,
            &Deliver {
                data_coding: UCS2,
                user_data: UserData {
                    header,
                    body: body.clone(),
                },
                ..text("")
            },
        );
        let result = lab.centre.answer_to(number);
        assert_eq!(result.message_type, MessageType::MT_FORWARD_SM_RESULT);
    }
    let texts = lab.phone.texts();
    assert_eq!(texts[0], "a short one");
    assert_eq!(texts[1..].concat(), long);
    lab.assert_well_formed(&["a short one"]);
}

#[test]
fn a_phone_without_memory_says_when_it_has_some() {
    let mut lab = Lab::start();
    lab.phone.attach();
    lab.phone.answers(Answer::Refuse(MEMORY));
    let number = lab.send(IMSI, &text("no room"));
    let error = lab.centre.answer_to(number);
    assert_eq!(error.message_type, MessageType::MT_FORWARD_SM_ERROR);
    assert_eq!(error.rp_cause, Some(MEMORY));
    assert_eq!((lab.phone.refused(), lab.phone.taken().len()), (1, 0));

    lab.phone.answers(Answer::Take);
    lab.phone.memory_available().unwrap();
    let ready = lab.centre.next(MessageType::READY_FOR_SM_REQUEST);
    assert_eq!(
        (ready.imsi.as_str(), ready.alert_reason),
        (IMSI, Some(ALERT_MEMORY))
    );
    let answer = ready.answer(MessageType::READY_FOR_SM_RESULT, &lab.centre.name());
    lab.centre.answer(&answer);
    let number = lab.send(IMSI, &text("now there is room"));
    lab.centre.answer_to(number);
    assert_eq!(lab.phone.texts(), ["now there is room"]);
    lab.assert_well_formed(&["no room", "now there is room"]);
}

#[test]
fn messages_of_a_phone_reach_the_service_centre_and_its_answer_the_phone() {
    let mut lab = Lab::start();
    lab.phone.attach();
    for (wanted, said) in [
        (Ok(()), "taken"),
        (Err(CONGESTION), "refused for congestion"),
    ] {
        let submit = SmsSubmit {
            message_reference: 7,
            destination_address: TpduAddress::international("447700900456"),
            user_data: septets(said),
            ..SmsSubmit::default()
        };
        let sent = Tpdu::Submit(submit);
        let outcome = std::thread::scope(|scope| {
            let phone = &lab.phone;
            let sending = scope.spawn(|| phone.send(CENTRE, &sent));
            let request = lab.centre.next(MessageType::MO_FORWARD_SM_REQUEST);
            assert_eq!(request.imsi, IMSI);
            let from = SmRpAddress::Msisdn(TpduAddress::international(MSISDN));
            assert_eq!(request.originator, Some(from));
            let to = SmRpAddress::ServiceCentre(TpduAddress::international(CENTRE));
            assert_eq!(request.destination, Some(to));
            let octets = sent.encode().unwrap();
            assert_eq!(request.user_information.as_deref(), Some(&octets[..]));
            let answer = match wanted {
                Ok(()) => MessageType::MO_FORWARD_SM_RESULT,
                Err(_) => MessageType::MO_FORWARD_SM_ERROR,
            };
            let mut answer = request.answer(answer, &lab.centre.name());
            answer.rp_cause = wanted.err();
            lab.centre.answer(&answer);
            sending.join().unwrap()
        });
        assert_eq!(outcome, wanted);
    }
    lab.assert_well_formed(&["taken", "refused for congestion"]);
}

#[test]
fn subscribers_who_are_not_there_are_told_apart() {
    let mut lab = Lab::start();
    let nobody = "001010000000099";
    assert_eq!(lab.cause_of(nobody), Some(IMSI_UNKNOWN));
    // Known to the HLR and never seen by an MSC.
    assert_eq!(lab.cause_of(IMSI), Some(DETACHED));
    lab.phone.attach();
    assert_eq!(lab.cause_of(IMSI), None);
    lab.phone.detach();
    // The MSC knows it no longer, and the HLR still sends messages there.
    assert_eq!(lab.cause_of(IMSI), Some(IMSI_UNKNOWN));
    lab.phone.attach();
    assert_eq!(lab.cause_of(IMSI), None);
    lab.assert_well_formed(&["are you there"]);
}

#[test]
fn the_msc_and_the_hlr_are_killed_and_come_back() {
    let mut lab = Lab::start();
    lab.phone.attach();
    lab.core.kill_msc();
    let number = lab.send(IMSI, &text("to no MSC"));
    let answer = lab.centre.answer_to(number);
    assert_eq!(answer.message_type, MessageType::ROUTING_ERROR);
    lab.core.start_msc();
    lab.bsc.reset();
    lab.phone.attach();
    assert_eq!(lab.cause_of(IMSI), None);

    lab.core.kill_hlr();
    let recorder = Proxy::to(lab.core.gsup());
    lab.core.start_hlr();
    let again = ServiceCentre::connect(recorder.address(), NAME);
    std::mem::replace(&mut lab.centre, again).until_closed();
    lab.core.until_msc_connected();
    assert_eq!(lab.cause_of(IMSI), None);
    assert_eq!(lab.phone.texts().len(), 2);
    lab.assert_well_formed(&["to no MSC"]);
}

// === impl Lab ===

impl Lab {
    fn start() -> Self {
        let core = GsmCore::start(&[NAME]);
        core.subscriber(IMSI, MSISDN);
        let recorder = Proxy::to(core.gsup());
        let centre = ServiceCentre::connect(recorder.address(), NAME);
        let bsc = Bsc::connect(&core);
        let phone = bsc.phone(IMSI);
        Self {
            core,
            recorder,
            centre,
            bsc,
            phone,
        }
    }

    /// Sends an MT-forwardSM, and returns its number.
    fn send(&mut self, imsi: &str, deliver: &Deliver) -> usize {
        let tpdu = Tpdu::Deliver(deliver.clone()).encode().unwrap();
        self.centre.send(&GsupMessage {
            reference: Some(REFERENCE_UNKNOWN),
            destination: Some(SmRpAddress::Imsi(imsi.to_owned())),
            originator: Some(SmRpAddress::ServiceCentre(TpduAddress::international(
                CENTRE,
            ))),
            user_information: Some(tpdu.into()),
            more_messages: Some(false),
            source_name: Some(self.centre.name()),
            ..GsupMessage::new(MessageType::MT_FORWARD_SM_REQUEST, imsi)
        })
    }

    /// The GMM cause why a message cannot be delivered; `None` when it was.
    fn cause_of(&mut self, imsi: &str) -> Option<u8> {
        let number = self.send(imsi, &text("are you there"));
        let answer = self.centre.answer_to(number);
        assert_eq!(answer.imsi, imsi);
        assert_eq!(
            answer.message_type == MessageType::MT_FORWARD_SM_RESULT,
            answer.cause.is_none()
        );
        answer.cause
    }

    /// tshark has seen these texts and complains of nothing.
    fn assert_well_formed(&self, texts: &[&str]) {
        assert_well_formed(&self.recorder, texts);
    }
}

/// A message for a phone.
fn text(text: &str) -> Deliver {
    Deliver {
        originating_address: TpduAddress::international("447700900999"),
        service_centre_time_stamp: TimeStamp {
            year: 26,
            month: 11,
            day: 25,
            ..TimeStamp::default()
        },
        user_data: septets(text),
        ..Deliver::default()
    }
}

fn septets(text: &str) -> UserData {
    UserData {
        header: UserDataHeader::default(),
        body: gsm7::encode(text, Shifts::default()).unwrap().into(),
    }
}
