//! The parameters of `/send` and `/rate`, and the message that they make.

use bytes::Bytes;
use serde_json::json;

use super::JasminError;
use crate::actors::context::plan::AccountPlan;
use crate::content::compose::{self, ComposedBody, TextAlphabet};
use crate::http::account_api::compat::args::Args;
use crate::http::account_api::compat::reports::{ReportOrder, Unsupported, mask_of_level};
use crate::http::account_api::compat::{MAX_MINUTES, in_minutes};
use crate::http::account_api::order::fields::{destination, hex, source};
use crate::pb::{CallbackForm, ClientData, Message};

/// Most octets of the metadata of a message.
const MAX_TAGS: usize = 1_000;

/// Whether there is one content.
///
/// # Errors
/// There is none, or two.
pub(super) fn has_content(args: &Args) -> Result<(), JasminError> {
    match (args.octets("content"), args.octets("hex-content")) {
        (None, None) => Err(JasminError::invalid("content or hex-content not present.")),
        (Some(_), Some(_)) => Err(both()),
        _ => Ok(()),
    }
}

/// The message of parameters that were checked. `numbers`: how the account writes recipients.
///
/// # Errors
/// A parameter asks for something that there is not.
pub(super) fn message(
    args: &Args,
    account: &AccountPlan,
    now: i64,
) -> Result<Message, JasminError> {
    let source = source(&args.text("from")).map_err(|_| JasminError::of_value("from", args))?;
    let destination = destination(&args.text("to"), &account.numbers)
        .map_err(|_| JasminError::of_value("to", args))?;
    let tags = args.text("tags");
    if tags.len() > MAX_TAGS {
        return Err(JasminError::of_value("tags", args));
    }
    let client_data = (!tags.is_empty()).then(|| {
        let tags: Vec<&str> = tags.split(',').collect();
        Box::new(ClientData {
            metadata: json!({ "tags": tags }).to_string(),
            ..ClientData::default()
        })
    });
    let mut message = Message {
        priority: args.text("priority").parse().unwrap_or_default(),
        client_data,
        ..compose::between(source, destination)
    };
    let minutes = match args.text("validity-period") {
        text if text.is_empty() => None,
        text => match text.parse() {
            Ok(minutes) if minutes <= MAX_MINUTES => Some(minutes),
            _ => return Err(JasminError::of_value("validity-period", args)),
        },
    };
    compose::set_times(
        &mut message,
        None,
        minutes.map(|minutes| in_minutes(now, minutes)),
    );
    // It is written as SMPP writes it.
    message.schedule_delivery_time = args
        .octets("sdt")
        .map_or_else(Vec::new, |octets| octets.to_vec());
    body(args)?.carry(&mut message);
    if let Some(reports) = reports(args) {
        let arranged = reports.arrange(account, &mut message);
        arranged.map_err(|error| {
            let argument = match error {
                Unsupported::Nothing => "dlr-level",
                Unsupported::NoUrl | Unsupported::Url(_) => "dlr-url",
            };
            JasminError::invalid(format!("Argument [{argument}]: {error}."))
        })?;
    }
    Ok(message)
}

fn both() -> JasminError {
    JasminError::invalid("content and hex-content cannot be used both in same request.")
}

/// Text of coding 0 is UTF-8, and becomes the 7-bit alphabet with question marks for what that lacks; everything else
/// is the octets of its data_coding already.
fn body(args: &Args) -> Result<ComposedBody, JasminError> {
    let coding = args.text("coding").parse().unwrap_or(0);
    let octets = match (args.octets("content"), args.octets("hex-content")) {
        (Some(_), Some(_)) => return Err(both()),
        (_, Some(_)) => hexadecimal(args)?,
        (Some(content), None) if coding == 0 => {
            let text = std::str::from_utf8(content).map_err(|_| of_content())?;
            let body = compose::text(text, TextAlphabet::GsmLossy, false);
            return body.map_err(|_| of_content());
        }
        (content, None) => content.cloned().unwrap_or_default(),
    };
    compose::encoded(coding, Bytes::new(), octets).map_err(|_| of_content())
}

fn hexadecimal(args: &Args) -> Result<Bytes, JasminError> {
    let text = args.text("hex-content");
    hex("hex-content", &text)
        .map_err(|_| JasminError::invalid(format!("Invalid hex-content data: '{text}'")))
}

/// The content is not repeated: it may be long.
fn of_content() -> JasminError {
    JasminError::invalid("Argument [content] has an invalid value.")
}

/// Reports by HTTP, if they are wanted. Without a URL nothing is sent, whatever `dlr` says.
fn reports(args: &Args) -> Option<ReportOrder> {
    let url = args.octets("dlr-url")?;
    let level = args.text("dlr-level").parse().unwrap_or(1);
    let is_get = args.text("dlr-method").eq_ignore_ascii_case("get");
    Some(ReportOrder {
        mask: mask_of_level(level),
        level,
        url: Some(String::from_utf8_lossy(url).into_owned()),
        form: if is_get {
            CallbackForm::JasminGet
        } else {
            CallbackForm::Jasmin
        },
    })
}

#[cfg(test)]
mod tests;
