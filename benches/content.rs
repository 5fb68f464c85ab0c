//! What it costs to look into a short message, and into what carries it to a phone or by SMPP: nanoseconds
//! per message, one core.
//!
//! `cargo bench --bench content [-- part-of-a-name]`. Every line is a closure of the table in
//! `cases`; it runs in a hundred short rounds, of which the fastest is printed: what it costs while
//! nothing else wants the core. Allocation of the result is part of each figure.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use smsc::gsup::{GsupMessage, MessageType, SmRpAddress};
use smsc::smpp::{Leniency, SubmitSm, codec, encode};
use smsc::sms::convert::{self, Alphabet, SubstitutionPolicy};
use smsc::sms::reassemble::{Added, Assembler, TextPart};
use smsc::sms::rp::{self, Rp};
use smsc::sms::segment::{self, PartNumbering, Units};
use smsc::sms::tpdu::{
    self, Deliver, Direction, SmsSubmit, StatusReport, TimeStamp, Tpdu, TpduAddress, TpduKind,
    UserData,
};
use smsc::sms::udh::{Concat, UserDataHeader};
use smsc::sms::{Language, Shifts, gsm7, pack, ucs2};

/// How long one measurement runs, and how many there are.
const ROUND: Duration = Duration::from_millis(5);
const ROUNDS: usize = 100;
/// Repetitions between two looks at the clock.
const BATCH: u32 = 16;

/// What is measured: its name, and one message's worth of it.
type Case = (String, Box<dyn Fn()>);

const PART_TWO: Concat = Concat {
    reference: 0xCC,
    wide: false,
    total: 3,
    sequence: 2,
};

fn main() {
    let wanted: Option<String> = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let all = cases().into_iter().chain(radio_cases());
    for (name, work) in all.chain(smpp_cases()) {
        if wanted
            .as_ref()
            .is_none_or(|part| name.contains(part.as_str()))
        {
            println!("{name:58} {:8.0} ns", nanoseconds(&*work));
        }
    }
}

#[expect(clippy::too_many_lines, reason = "a list of measurements")]
fn cases() -> Vec<Case> {
    let english = "Your code is 481 516. It is valid for ten minutes. Do not share it with anyone. \
                   Questions? Call +41 44 123 45 67 or write to us at any time of the day, please.";
    assert_eq!(english.len(), 159);
    let (short, long) = (english[..60].to_owned(), english.to_owned());
    let longest = english.repeat(4);
    let french =
        "Votre colis n° 481 est arrivé à l’agence, où il vous attend jusqu’à 18 h…".to_owned();
    let hindi = "आपका कोड है 481516, दस मिनट तक मान्य SMS ".repeat(3);
    let turkish = "Şifreniz 481516 olup on dakika geçerlidir, kimseyle paylaşmayınız. ".repeat(3);
    let emoji = format!("{turkish}😀");
    let default = Shifts::default();
    let in_hindi = Shifts {
        locking: Language::Hindi,
        single: Language::Hindi,
    };
    let septets = gsm7::encode(&long, default).expect("English is in the default alphabet");
    let packed = pack::pack(&septets, 1);
    let hindi_septets = gsm7::encode(&hindi, in_hindi).expect("Hindi is in its tables");
    let wide = ucs2::encode(&hindi);
    let latin1 = convert::encode("arrivé à Genève, où il attend", Alphabet::Latin1, default);
    let latin1 = latin1.expect("French is in Latin-1");

    let mut numbered = UserDataHeader::default();
    numbered.set_concat(Some(PART_TWO));
    let user_data: Bytes = [&numbered.encode()[..], &[b'x'; 134]].concat().into();
    let thousand: Bytes = vec![b'x'; 1_000].into();

    vec![
        case(
            "udh split and concat, 5 octets of header",
            &user_data,
            |octets| UserDataHeader::split(octets).map(|(header, _)| header.concat()),
        ),
        case("udh encode", &numbered, UserDataHeader::encode),
        case("segment count, 1,000 septets", &thousand, |octets| {
            segment::count(
                octets,
                Units::Septets,
                &UserDataHeader::default(),
                PartNumbering::Eight,
            )
        }),
        case("segment split, 1,000 septets into 7", &thousand, |octets| {
            segment::split(
                octets,
                Units::Septets,
                &UserDataHeader::default(),
                PartNumbering::Eight,
            )
        }),
        case(
            "reassemble 3 parts, 1,000 other sets waiting",
            &waiting(1_000),
            |waiting| three_parts(waiting),
        ),
        case(
            "reassemble 3 parts, 100,000 other sets waiting",
            &waiting(100_000),
            |waiting| three_parts(waiting),
        ),
        case("gsm7 encode, 60 characters", &short, move |text| {
            gsm7::encode(text, default)
        }),
        case("gsm7 encode, 159 characters", &long, move |text| {
            gsm7::encode(text, default)
        }),
        case("gsm7 decode, 159 septets", &septets, move |septets| {
            gsm7::decode(septets, default)
        }),
        case("gsm7 encode, Hindi, 123 characters", &hindi, move |text| {
            gsm7::encode(text, in_hindi)
        }),
        case("gsm7 decode, Hindi", &hindi_septets, move |septets| {
            gsm7::decode(septets, in_hindi)
        }),
        case("pack, 159 septets", &septets, |septets| {
            pack::pack(septets, 1)
        }),
        case("unpack, 159 septets", &packed, |octets| {
            pack::unpack(octets, 1, 159)
        }),
        case("ucs2 encode, Hindi, 123 characters", &hindi, |text| {
            ucs2::encode(text)
        }),
        case("ucs2 decode, 123 characters", &wide, |octets| {
            ucs2::decode(octets)
        }),
        case(
            "convert Latin-1 to GSM, 29 characters",
            &latin1,
            move |octets| {
                let text = convert::decode(Alphabet::Latin1, octets, default);
                convert::encode(&text, Alphabet::Gsm, default)
            },
        ),
        case(
            "convert, transliterated, 73 characters",
            &french,
            move |text| {
                convert::force(
                    text,
                    Alphabet::Gsm,
                    default,
                    SubstitutionPolicy::Transliterate,
                )
            },
        ),
        case("choose, default alphabet, 159 characters", &long, |text| {
            convert::choose(text, &Language::ALL)
        }),
        case("choose of no language, 636 characters", &longest, |text| {
            convert::choose(text, &[])
        }),
        case(
            "choose of one language, Turkish, 201 characters",
            &turkish,
            |text| convert::choose(text, &[Language::Turkish]),
        ),
        case(
            "choose of 13 languages, Turkish, 201 characters",
            &turkish,
            |text| convert::choose(text, &Language::ALL),
        ),
        case(
            "choose of 13 languages, Turkish with an emoji",
            &emoji,
            |text| convert::choose(text, &Language::ALL),
        ),
        case(
            "choose of 13 languages, Hindi, 123 characters",
            &hindi,
            |text| convert::choose(text, &Language::ALL),
        ),
    ]
}

/// What is measured in [`radio_cases`].
struct Radio {
    submit: Tpdu,
    deliver: Tpdu,
    status_report: Tpdu,
    /// RP-DATA of the phone, and towards it.
    rp_submit: Rp,
    rp_deliver: Rp,
    mt: GsupMessage,
    mo: GsupMessage,
}

impl Radio {
    /// A full text in the 7-bit alphabet, and what carries it.
    fn new() -> Self {
        let user_data = UserData {
            header: UserDataHeader::default(),
            body: vec![b'x'; 160].into(),
        };
        let stamp = TimeStamp {
            year: 26,
            month: 11,
            day: 21,
            ..TimeStamp::default()
        };
        let number = TpduAddress::international("447700900123");
        let submit = Tpdu::Submit(SmsSubmit {
            destination_address: number.clone(),
            user_data: user_data.clone(),
            ..SmsSubmit::default()
        });
        let deliver = Tpdu::Deliver(Deliver {
            originating_address: number.clone(),
            service_centre_time_stamp: stamp,
            user_data,
            ..Deliver::default()
        });
        let status_report = Tpdu::StatusReport(StatusReport {
            recipient_address: number.clone(),
            service_centre_time_stamp: stamp,
            discharge_time: stamp,
            ..StatusReport::default()
        });
        let imsi = "001010000000001";
        let centre = TpduAddress::international("49170000");
        let rp = |direction, tpdu: &Tpdu| Rp::Data {
            direction,
            reference: 1,
            service_centre: centre.clone(),
            tpdu: written(tpdu),
        };
        Self {
            rp_submit: rp(Direction::FromPhone, &submit),
            rp_deliver: rp(Direction::ToPhone, &deliver),
            mt: GsupMessage {
                reference: Some(1),
                destination: Some(SmRpAddress::Imsi(imsi.to_owned())),
                originator: Some(SmRpAddress::ServiceCentre(centre.clone())),
                user_information: Some(written(&deliver)),
                source_name: Some("SMSC-00-00-00-00-00-00".into()),
                ..GsupMessage::new(MessageType::MT_FORWARD_SM_REQUEST, imsi)
            },
            mo: GsupMessage {
                reference: Some(1),
                destination: Some(SmRpAddress::ServiceCentre(centre.clone())),
                originator: Some(SmRpAddress::Msisdn(number)),
                user_information: Some(written(&submit)),
                source_name: Some("MSC-00-00-00-00-00-00".into()),
                ..GsupMessage::new(MessageType::MO_FORWARD_SM_REQUEST, imsi)
            },
            submit,
            deliver,
            status_report,
        }
    }
}

fn written(tpdu: &Tpdu) -> Bytes {
    tpdu.encode().expect("the TPDU is a sound one").into()
}

/// TPDUs, RP and GSUP messages with them.
fn radio_cases() -> Vec<Case> {
    let radio = Radio::new();
    let mut cases = Vec::new();
    for (name, kind, tpdu) in [
        (
            "tpdu SMS-SUBMIT, 160 septets",
            TpduKind::Submit,
            &radio.submit,
        ),
        (
            "tpdu SMS-DELIVER, 160 septets",
            TpduKind::Deliver,
            &radio.deliver,
        ),
        (
            "tpdu SMS-STATUS-REPORT",
            TpduKind::StatusReport,
            &radio.status_report,
        ),
    ] {
        cases.push(case(format!("{name}: encode"), tpdu, Tpdu::encode));
        cases.push(case(
            format!("{name}: decode"),
            &written(tpdu),
            move |octets| tpdu::decode(kind, octets),
        ));
    }
    let ack = Rp::Ack {
        direction: Direction::FromPhone,
        reference: 1,
        tpdu: None,
    };
    for (name, rp) in [
        ("rp RP-DATA with that SMS-SUBMIT", &radio.rp_submit),
        ("rp RP-DATA with that SMS-DELIVER", &radio.rp_deliver),
        ("rp RP-ACK", &ack),
    ] {
        let octets = Bytes::from(rp.encode().expect("the message is a sound one"));
        cases.push(case(format!("{name}: encode"), rp, Rp::encode));
        cases.push(case(format!("{name}: decode"), &octets, rp::decode));
    }
    for (name, message) in [
        ("gsup MT-forwardSM with that SMS-DELIVER", &radio.mt),
        ("gsup MO-forwardSM with that SMS-SUBMIT", &radio.mo),
    ] {
        let octets = Bytes::from(message.encode().expect("the message is a sound one"));
        cases.push(case(
            format!("{name}: encode"),
            message,
            GsupMessage::encode,
        ));
        cases.push(case(
            format!("{name}: decode"),
            &octets,
            GsupMessage::decode,
        ));
    }
    cases
}

/// The same text by SMPP, beside those.
fn smpp_cases() -> Vec<Case> {
    let submit_sm = SubmitSm {
        source_addr_ton: 5,
        source_addr: "Bank".into(),
        dest_addr_ton: 1,
        dest_addr_npi: 1,
        destination_addr: "447700900123".into(),
        registered_delivery: 1,
        short_message: vec![b'x'; 160].into(),
        ..SubmitSm::default()
    };
    let mut frame = BytesMut::new();
    encode::encode_submit_sm(&mut frame, 1, &submit_sm);
    vec![
        case("smpp submit_sm, 160 octets: encode", &submit_sm, |pdu| {
            // A session appends to a buffer that it has; here it is new, as the results of the others are.
            let mut out = BytesMut::new();
            encode::encode_submit_sm(&mut out, 1, pdu);
            out
        }),
        case(
            "smpp submit_sm, 160 octets: decode",
            &frame.freeze(),
            |frame| codec::decode(frame, &Leniency::default()),
        ),
    ]
}

/// One line of the table.
fn case<I, O>(name: impl Into<String>, input: &I, work: impl Fn(&I) -> O + 'static) -> Case
where
    I: Clone + 'static,
{
    let input = input.clone();
    let work = move || {
        black_box(work(black_box(&input)));
    };
    (name.into(), Box::new(work))
}

/// What one repetition takes in the fastest round.
fn nanoseconds(work: &dyn Fn()) -> f64 {
    (0..ROUNDS)
        .map(|_| {
            let (started, mut repetitions) = (Instant::now(), 0_u32);
            while started.elapsed() < ROUND {
                (0..BATCH).for_each(|_| work());
                repetitions += BATCH;
            }
            started.elapsed().as_nanos() as f64 / f64::from(repetitions)
        })
        .fold(f64::INFINITY, f64::min)
}

/// Parts that wait, and the number of the next text.
type Waiting = RefCell<(u64, Assembler<u64, u64>)>;

fn waiting(sets: u64) -> Rc<Waiting> {
    let mut assembler = Assembler::new(1_000_000, 1_000);
    for key in 0..sets {
        add(&mut assembler, key, 1);
    }
    Rc::new(RefCell::new((sets, assembler)))
}

fn add(assembler: &mut Assembler<u64, u64>, key: u64, sequence: u8) -> Added<u64> {
    let part = TextPart {
        holder: 0,
        total: 3,
        sequence,
        fingerprint: key,
        value: key,
    };
    assembler.add(0, key, part)
}

fn three_parts(waiting: &Waiting) -> Added<u64> {
    let (next, assembler) = &mut *waiting.borrow_mut();
    *next += 1;
    add(assembler, *next, 1);
    add(assembler, *next, 3);
    add(assembler, *next, 2)
}
