//! The struct of `sms.send` and the messages that it makes. Its members are named as the fields of Submit in SGIP,
//! the protocol of gateways for business systems; docs/xml-rpc.md says what each does.

use bytes::Bytes;
use serde_json::{Map, Value as Json};

use super::arguments::{Arguments, text_of, wrong_type};
use crate::actors::ingress::account_api::MOST;
use crate::content::compose::{self, ComposedBody, TextAlphabet};
use crate::domain::callback::states;
use crate::http::account_api::order::fields::{check_reference, source};
use crate::http::account_api::order::{Draft, DraftResult, chosen_states};
use crate::http::problem::Problem;
use crate::numbers::{NotANumber, Numbers};
use crate::pb::{ClientData, Message};
use crate::xml_rpc::XmlRpcValue;

/// What a sender can have (SMPP 3.4 §5.2.8); its form is checked by [`source`].
const LONGEST_SENDER: usize = 21;
/// service_type of SMPP (3.4 §5.2.11), without its NUL.
const LONGEST_SERVICE: usize = 5;
const LONGEST_CHARGED: usize = 21;
const LONGEST_CORP: usize = 16;
const MOST_FEE: i64 = 999_999;

/// A message for each number of an order. `written`: how the account writes numbers.
pub(super) fn drafts(
    order: XmlRpcValue,
    now: i64,
    written: &Numbers,
) -> Result<Vec<DraftResult>, Problem> {
    let mut arguments = Arguments::of("message", order)?;
    let numbers = numbers(&mut arguments)?;
    let body = body(&mut arguments)?;
    let template = template(&mut arguments, now)?;
    let reference = arguments.text_of("reference")?;
    check_reference(reference.as_deref())?;
    let callback = arguments.text_of("callback")?;
    let report_states = report_states(&mut arguments)?;
    let metadata = stored(&mut arguments)?;
    arguments.finish()?;
    let has_callback = callback.is_some();
    let has_any = reference.is_some() || metadata.is_some() || has_callback;
    let client_data = has_any.then(|| {
        Box::new(ClientData {
            reference: reference.clone().unwrap_or_default(),
            metadata: metadata.map_or_else(String::new, |metadata| metadata.to_string()),
            callback: callback.unwrap_or_default(),
            ..ClientData::default()
        })
    });
    let registered_delivery = match template.registered_delivery {
        0 => u32::from(has_callback || states::any(report_states)),
        asked => asked,
    };
    let message = Message {
        client_data,
        registered_delivery,
        report_states,
        ..template
    };
    let shared = Draft::new(&body, message);
    let draft = |(at, number): (usize, String)| {
        let read = written.read(&number).map(|digits| {
            let mut draft = shared.clone();
            draft.message.destination = digits.into();
            draft
        });
        let named = |wrong: NotANumber| {
            Problem::bad_value(&format!("user_numbers[{at}]"), wrong.to_string())
        };
        DraftResult {
            message: read.map_err(named),
            to: number,
            reference: reference.clone(),
        }
    };
    Ok(numbers.into_iter().enumerate().map(draft).collect())
}

/// The states before the final one that callbacks report, if it says which.
fn report_states(arguments: &mut Arguments) -> Result<u32, Problem> {
    const NAME: &str = "callback_states";
    let words = match arguments.take(NAME) {
        None => return Ok(0),
        Some(XmlRpcValue::Array(words)) => words,
        Some(one) => vec![one],
    };
    let word = |(at, value)| text_of(&format!("{NAME}[{at}]"), value);
    let words: Result<Vec<String>, Problem> = words.into_iter().enumerate().map(word).collect();
    chosen_states(Some(&words?))
}

fn numbers(arguments: &mut Arguments) -> Result<Vec<String>, Problem> {
    const NAME: &str = "user_numbers";
    let wrong = |detail: String| Problem::bad_value(NAME, detail);
    let numbers = match arguments.take(NAME) {
        None => return Err(wrong("it is missing: who shall get it?".to_owned())),
        Some(XmlRpcValue::Array(numbers)) => numbers,
        Some(one) => vec![one],
    };
    match numbers.len() {
        0 => return Err(wrong("there is no number in it".to_owned())),
        1..=MOST => {}
        count => return Err(wrong(format!("there are {count}; a call may have {MOST}"))),
    }
    let number = |(at, value)| text_of(&format!("{NAME}[{at}]"), value);
    numbers.into_iter().enumerate().map(number).collect()
}

/// What the messages have in common.
fn template(arguments: &mut Arguments, now: i64) -> Result<Message, Problem> {
    let sender = arguments.text("sp_number", LONGEST_SENDER)?;
    let source = source(&sender.unwrap_or_default())?;
    let service_type = arguments.text("service_type", LONGEST_SERVICE)?;
    let priority = arguments.number("priority", 0..=i64::from(compose::MAX_PRIORITY))?;
    let protocol_id = arguments.number("tp_pid", 0..=255)?;
    // 0 only if it fails, 1 always, 2 never (SMPP 3.4 §5.2.17 counts otherwise).
    let registered_delivery = match arguments.number("report_flag", 0..=2)? {
        Some(0) => 2,
        Some(1) => 1,
        _ => 0,
    };
    let schedule = arguments.time("schedule_time", now)?;
    let expiry = arguments.time("expire_time", now)?;
    let small = |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok());
    let mut message = Message {
        service_type: service_type.unwrap_or_default().into(),
        protocol_id: small(protocol_id).unwrap_or_default(),
        priority: small(priority).unwrap_or_default(),
        registered_delivery,
        ..compose::between(source, Bytes::new())
    };
    compose::set_times(&mut message, schedule, expiry);
    Ok(message)
}

/// What only comes back with the message.
fn stored(arguments: &mut Arguments) -> Result<Option<Json>, Problem> {
    let mut kept = Map::new();
    for (name, longest) in [
        ("charge_number", LONGEST_CHARGED),
        ("corp_id", LONGEST_CORP),
    ] {
        if let Some(text) = arguments.text(name, longest)? {
            kept.insert(name.to_owned(), Json::from(text));
        }
    }
    for (name, most) in [
        ("fee_type", 255),
        ("fee_value", MOST_FEE),
        ("given_value", MOST_FEE),
        ("agent_flag", 1),
        ("more_related_to_mt_flag", 3),
    ] {
        if let Some(number) = arguments.number(name, 0..=most)? {
            kept.insert(name.to_owned(), Json::from(number));
        }
    }
    Ok((!kept.is_empty()).then_some(Json::Object(kept)))
}

fn body(arguments: &mut Arguments) -> Result<ComposedBody, Problem> {
    let coding = arguments.number("coding", 0..=255)?;
    let has_header = arguments.number("tp_udhi", 0..=1)? == Some(1);
    match arguments.take("content") {
        None => Err(Problem::bad_value("content", "it is missing")),
        Some(XmlRpcValue::String(_)) if has_header => {
            let detail =
                "it says that content begins with a user data header; give content as base64";
            Err(Problem::bad_value("tp_udhi", detail))
        }
        Some(XmlRpcValue::String(text)) => {
            let (alphabet, flash) = alphabet(coding)?;
            compose::text(&text, alphabet, flash).map_err(|refused| unusable(&refused))
        }
        Some(XmlRpcValue::Base64(octets)) => {
            let (header, octets) = if has_header {
                divided(&octets)?
            } else {
                (Bytes::new(), octets)
            };
            // Within 0 to 255.
            let coding = coding.and_then(|coding| u8::try_from(coding).ok());
            compose::coded(octets, header, coding.unwrap_or(4))
                .map_err(|refused| unusable(&refused))
        }
        Some(other) => Err(wrong_type("content", "string or base64", &other)),
    }
}

fn unusable(refused: &compose::ComposeRefusal) -> Problem {
    let field = match refused {
        compose::ComposeRefusal::DataCoding(_) | compose::ComposeRefusal::ClassOfLatin1 => "coding",
        _ => "content",
    };
    Problem::bad_value(field, refused.to_string())
}

/// How a text is written, and whether it is shown at once.
fn alphabet(coding: Option<i64>) -> Result<(TextAlphabet, bool), Problem> {
    let detail = match coding {
        None => return Ok((TextAlphabet::Auto, false)),
        Some(0) => return Ok((TextAlphabet::Gsm, false)),
        Some(3) => return Ok((TextAlphabet::Latin1, false)),
        Some(8) => return Ok((TextAlphabet::Ucs2, false)),
        Some(0x10) => return Ok((TextAlphabet::Gsm, true)),
        Some(0x18) => return Ok((TextAlphabet::Ucs2, true)),
        Some(4 | 0x14) => "it is that of data; give content as base64",
        Some(15) => "GBK has no data_coding in SMPP; leave it out, and the text goes as UCS-2",
        Some(_) => "0, 3, 8, 16 or 24 is expected for a text",
    };
    Err(Problem::bad_value("coding", detail))
}

/// The user data header with its length octet, and what follows it.
fn divided(octets: &Bytes) -> Result<(Bytes, Bytes), Problem> {
    let length = octets.first().map_or(0, |length| usize::from(*length) + 1);
    if length == 0 || length > octets.len() {
        let detail =
            "tp_udhi says that it begins with a user data header, and it is shorter than that";
        return Err(Problem::bad_value("content", detail));
    }
    Ok((octets.slice(..length), octets.slice(length..)))
}
