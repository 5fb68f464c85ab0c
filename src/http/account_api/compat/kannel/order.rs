//! The parameters of sendsms, and the messages that they make.

use bytes::Bytes;

use super::super::args::Args;
use super::super::reports::{MASK, ReportOrder};
use super::super::{MAX_MINUTES, in_minutes};
use super::KannelError;
use super::charset::{UTF_16, characters, has_mark};
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::account_api::MOST;
use crate::content::compose::{self, ComposedBody, TextAlphabet};
use crate::http::account_api::order::fields::{destination, source};
use crate::numbers::Numbers;
use crate::pb::{CallbackForm, ClientData, Message};

/// Most octets of `account`, and what it may not have.
const MAX_ACCOUNT: usize = 64;
const NOT_IN_ACCOUNT: [char; 4] = ['[', ']', '\n', '\r'];
/// Most octets of service_type (SMPP 3.4 §5.2.11, without its NUL).
const MAX_SERVICE_TYPE: usize = 5;
/// Most octets of a user data header.
const MAX_HEADER: usize = 140;
/// esm_class: a reply path is set (SMPP 3.4 §5.2.12).
const REPLY_PATH: u32 = 0x80;

/// A request, ready to be submitted.
#[derive(Debug)]
pub(super) struct Order {
    pub messages: Vec<Message>,
    /// Of each message, as the request wrote it.
    pub receivers: Vec<String>,
    /// What is no number.
    pub denied: Vec<String>,
    /// Not to be sent at once.
    pub is_deferred: bool,
}

/// What the text is written in (`coding`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Gsm,
    Octets,
    Ucs2,
}

/// The parameters that make a data_coding.
#[derive(Debug, Clone, Copy)]
struct Dcs {
    coding: Coding,
    /// `mclass`.
    class: Option<u8>,
    /// `mwi`.
    waiting: Option<u8>,
    /// `alt-dcs`: the class group 1111 rather than the general one.
    is_alternative: bool,
}

// === impl Order ===

impl Order {
    /// Reads the parameters; the first fault is an error of the whole request, as in Kannel.
    pub(super) fn read(args: &Args, account: &AccountPlan, now: i64) -> Result<Self, KannelError> {
        let (numbers, denied) = receivers(args, &account.numbers)?;
        let header = header(args)?;
        let mut template = template(args)?;
        let dcs = Dcs::read(args, &header)?;
        let after = |minutes: Option<i64>| minutes.map(|minutes| in_minutes(now, minutes));
        let validity = after(number(args, "validity", "Validity", MAX_MINUTES)?);
        // After no minutes is at once.
        let deferred = number(args, "deferred", "Deferred", MAX_MINUTES)?;
        let deferred = after(deferred.filter(|minutes| *minutes > 0));
        compose::set_times(&mut template, deferred, validity);
        template.priority = octet(args, "priority", "Priority", 3)?.unwrap_or(0).into();
        dcs.body(args, header)?.carry(&mut template);
        if let Some(reports) = reports(args)? {
            let arranged = reports.arrange(account, &mut template);
            arranged
                .map_err(|error| KannelError::rejected(format!("DLR-Mask rejected: {error}")))?;
        }
        let (receivers, numbers): (Vec<String>, Vec<Bytes>) = numbers.into_iter().unzip();
        let messages = numbers.into_iter().map(|destination| Message {
            destination,
            ..template.clone()
        });
        Ok(Self {
            messages: messages.collect(),
            receivers,
            denied,
            is_deferred: deferred.is_some(),
        })
    }
}

type Receivers = Vec<(String, Bytes)>;

/// The receivers, each once, and what is no number.
fn receivers(args: &Args, written: &Numbers) -> Result<(Receivers, Vec<String>), KannelError> {
    if args.octets("to").is_none() {
        return Err(KannelError::rejected("Missing receiver number, rejected"));
    }
    let to = args.text("to");
    let (mut numbers, mut denied) = (Receivers::new(), Vec::new());
    for word in to.split_whitespace() {
        match destination(word, written) {
            Ok(number) if numbers.iter().any(|(_, known)| *known == number) => {}
            Ok(number) => numbers.push((word.to_owned(), number)),
            Err(_) => denied.push(word.to_owned()),
        }
        if numbers.len() + denied.len() > MOST {
            let said = format!("More than {MOST} receivers, rejected");
            return Err(KannelError::rejected(said));
        }
    }
    match (numbers.is_empty(), denied.is_empty()) {
        (false, _) => Ok((numbers, denied)),
        (true, true) => Err(KannelError::rejected(
            "Empty receiver number not allowed, rejected",
        )),
        (true, false) => Err(KannelError::rejected(
            "Number(s) has/have been denied by white- and/or black-lists.",
        )),
    }
}

fn header(args: &Args) -> Result<Bytes, KannelError> {
    let header = args.octets("udh").cloned().unwrap_or_default();
    match header.first() {
        Some(length) if usize::from(*length) + 1 != header.len() => {
            Err(KannelError::misformed("UDH"))
        }
        Some(_) if header.len() > MAX_HEADER => {
            Err(KannelError::rejected("UDH field is too long, rejected"))
        }
        _ => Ok(header),
    }
}

/// What the messages have in common, but for text and times.
fn template(args: &Args) -> Result<Message, KannelError> {
    for (name, field) in [("compress", "Compress"), ("meta-data", "Meta-data")] {
        if !["", "0"].contains(&args.text(name).trim()) {
            let said = format!("{field} is not supported, rejected");
            return Err(KannelError::rejected(said));
        }
    }
    let source = source(&args.text("from"))
        .map_err(|_| KannelError::rejected("Sender misformed, rejected"))?;
    let account = args.text("account");
    if account.len() > MAX_ACCOUNT || account.contains(NOT_IN_ACCOUNT) {
        let said = "Account field misformed or too long, rejected";
        return Err(KannelError::rejected(said));
    }
    let service_type = args
        .octets("binfo")
        .map_or_else(Vec::new, |octets| octets.to_vec());
    if service_type.len() > MAX_SERVICE_TYPE
        || !service_type.is_ascii()
        || service_type.contains(&0)
    {
        return Err(KannelError::misformed("Binfo"));
    }
    let rpi = octet(args, "rpi", "RPI", 2)?.unwrap_or(0);
    let client_data = (!account.is_empty()).then(|| {
        Box::new(ClientData {
            reference: account.into_owned(),
            ..ClientData::default()
        })
    });
    Ok(Message {
        esm_class: if rpi > 0 { REPLY_PATH } else { 0 },
        protocol_id: octet(args, "pid", "PID", u8::MAX)?.unwrap_or(0).into(),
        service_type,
        client_data,
        ..compose::between(source, Bytes::new())
    })
}

fn reports(args: &Args) -> Result<Option<ReportOrder>, KannelError> {
    let url = args
        .either("dlr-url", "dlrurl")
        .filter(|url| !url.is_empty());
    let url = url.map(|url| String::from_utf8_lossy(url).into_owned());
    let is_url = |url: &String| {
        let url = url.to_ascii_lowercase();
        url.starts_with("http://") || url.starts_with("https://")
    };
    if !url.as_ref().is_none_or(is_url) {
        return Err(KannelError::misformed("DLR-URL"));
    }
    let name = match args.octets("dlr-mask") {
        Some(_) => "dlr-mask",
        None => "dlrmask",
    };
    let mask = number(args, name, "DLR-Mask", MASK)?;
    let mask = mask.and_then(|mask| u8::try_from(mask).ok()).unwrap_or(0);
    Ok((mask > 0).then_some(ReportOrder {
        mask,
        level: 0,
        url,
        form: CallbackForm::Kannel,
    }))
}

/// A number from 0; -1 and nothing are none.
fn number(args: &Args, name: &str, field: &str, most: i64) -> Result<Option<i64>, KannelError> {
    let text = args.text(name);
    match text.trim() {
        "" | "-1" => Ok(None),
        text => match text.parse() {
            Ok(number) if (0..=most).contains(&number) => Ok(Some(number)),
            _ => Err(KannelError::misformed(field)),
        },
    }
}

fn octet(args: &Args, name: &str, field: &str, most: u8) -> Result<Option<u8>, KannelError> {
    let number = number(args, name, field, most.into())?;
    Ok(number.and_then(|number| u8::try_from(number).ok()))
}

// === impl Dcs ===

impl Dcs {
    fn read(args: &Args, header: &[u8]) -> Result<Self, KannelError> {
        let class = octet(args, "mclass", "MClass", 3)?;
        let is_alternative = octet(args, "alt-dcs", "Alt-DCS", 1)? == Some(1);
        let waiting = octet(args, "mwi", "MWI", 7)?;
        let coding = match octet(args, "coding", "Coding", 2)? {
            Some(0) => Coding::Gsm,
            None if header.is_empty() => Coding::Gsm,
            Some(1) | None => Coding::Octets,
            Some(_) => Coding::Ucs2,
        };
        // There is no indication in data (3GPP TS 23.038 §4).
        if waiting.is_some() && coding == Coding::Octets {
            return Err(KannelError::misformed("MWI"));
        }
        Ok(Self {
            coding,
            class,
            waiting,
            is_alternative,
        })
    }

    /// data_coding as Kannel makes it for SMPP (`fields_to_dcs`, by 3GPP TS 23.038 §4).
    fn data_coding(self, is_empty: bool) -> u8 {
        let charset = match self.coding {
            Coding::Gsm => 0x00,
            Coding::Octets => 0x04,
            Coding::Ucs2 => 0x08,
        };
        match (self.waiting, self.class) {
            (Some(kind), _) => {
                let is_active = kind & 0x04 == 0;
                let group = match self.coding {
                    Coding::Ucs2 if !is_empty => 0xE0,
                    _ if is_active && !is_empty => 0xD0,
                    _ => 0xC0,
                };
                group | kind & 0x03 | if is_active { 0x08 } else { 0x00 }
            }
            (None, Some(class)) if self.coding == Coding::Ucs2 => 0x10 | charset | class,
            // Over SMPP a class is always written in the class group, which has no UCS-2.
            (None, Some(class)) => 0xF0 | charset | class,
            // There is no such group without a class: this one stands for the handset's memory.
            (None, None) if self.is_alternative && self.coding != Coding::Ucs2 => {
                0xF0 | charset | 1
            }
            (None, None) => charset,
        }
    }

    /// The text behind its header.
    fn body(self, args: &Args, header: Bytes) -> Result<ComposedBody, KannelError> {
        let wrong = || KannelError::rejected("Charset or body misformed, rejected");
        let octets = args.octets("text").cloned().unwrap_or_default();
        let charset = match args.text("charset") {
            none if none.is_empty() && self.coding == Coding::Ucs2 && has_mark(&octets) => {
                UTF_16.into()
            }
            charset => charset,
        };
        let in_alphabet = |alphabet| {
            let text = characters(&octets, &charset).ok_or_else(wrong)?;
            let body = compose::text(&text, alphabet, false).map_err(|_| wrong())?;
            Ok::<Bytes, KannelError>(body.octets)
        };
        let octets = match self.coding {
            Coding::Octets => octets,
            Coding::Gsm => in_alphabet(TextAlphabet::GsmLossy)?,
            Coding::Ucs2 if charset.is_empty() && octets.len() % 2 == 1 => return Err(wrong()),
            Coding::Ucs2 if charset.is_empty() => octets,
            Coding::Ucs2 => in_alphabet(TextAlphabet::Ucs2)?,
        };
        let data_coding = self.data_coding(octets.is_empty());
        compose::encoded(data_coding, header, octets).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests;
