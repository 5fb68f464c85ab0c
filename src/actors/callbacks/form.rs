//! A callback as a request: where to, what it says, and what answer takes it.
//!
//! Made from what the store has, each time it is sent, in the form that its receiver knows: our own, Kannel's or
//! Jasmin's. Pure.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;

use super::body::{self, EndedMessage, FormFields, ReachedState, ShownNames};
use super::{jasmin, kannel};
use crate::actors::routing::rewrite;
use crate::content::pdu;
use crate::domain::callback::kannel::encode;
use crate::domain::callback::target::CallbackTarget;
use crate::domain::command_status;
use crate::domain::rewrite::CompiledRewriteRules;
use crate::pb::{CallbackForm, Message};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";
/// What a receiver of Jasmin's answers.
const ACK: &str = "ACK/Jasmin";

/// One callback, ready to be sent.
#[derive(Debug, Clone)]
pub struct Callback {
    /// Does not change between attempts (webhook-id).
    pub id: String,
    pub target: CallbackTarget,
    /// The path of its URL, as far as it is the same for each message.
    pub path: Arc<str>,
    pub method: Method,
    /// The type of the body; `None` without one.
    pub content_type: Option<&'static str>,
    pub body: Bytes,
    /// What the answer must be for the callback to be taken, beside its status; `None` for anything.
    pub acknowledgement: Option<&'static str>,
}

/// How a receiver is called.
#[derive(Debug, Clone, Copy)]
pub struct ReceiverInterface<'a> {
    pub form: CallbackForm,
    /// With escapes in Kannel's form.
    pub url: &'a str,
}

// === impl ReceiverInterface ===

impl ReceiverInterface<'_> {
    /// The callback about the end of a message.
    ///
    /// # Errors
    /// Why there is none: its URL is no URL.
    pub fn receipt(
        &self,
        ended: EndedMessage<'_>,
        names: ShownNames<'_>,
    ) -> Result<Callback, String> {
        let id = body::receipt_id(ended.fin);
        match self.form {
            CallbackForm::Standard => self.post(id, JSON, body::receipt(ended, names)),
            CallbackForm::Kannel => self.get(id, &kannel::receipt(self.url, ended, names)),
            CallbackForm::Jasmin | CallbackForm::JasminGet => {
                self.fields(id, &jasmin::receipt(ended, names))
            }
        }
    }

    /// The callback about a state of a message before its end.
    ///
    /// # Errors
    /// Why there is none: its URL is no URL.
    pub fn state(
        &self,
        reached: ReachedState<'_>,
        names: ShownNames<'_>,
    ) -> Result<Callback, String> {
        let id = body::state_id(reached.message, reached.report);
        match self.form {
            CallbackForm::Standard => self.post(id, JSON, body::early(reached, names)),
            CallbackForm::Kannel => self.get(id, &kannel::state(self.url, reached, names)),
            CallbackForm::Jasmin | CallbackForm::JasminGet => {
                self.fields(id, &jasmin::sent(reached.message, names))
            }
        }
    }

    /// The callback that brings a message, with its addresses as `rewrite_out` wants them.
    ///
    /// # Errors
    /// Why there is none: its URL is no URL, or a rule made an address that cannot be.
    pub fn incoming(
        &self,
        message: &Message,
        rules: &CompiledRewriteRules,
        names: ShownNames<'_>,
    ) -> Result<Callback, String> {
        let id = body::message_id(message);
        let mut addressed = pdu::deliver_sm_of(message);
        rewrite::outgoing(rules, &mut addressed)
            .map_err(|status| command_status::display(status.0))?;
        match self.form {
            CallbackForm::Standard => {
                self.post(id, JSON, body::incoming(message, &addressed, names))
            }
            CallbackForm::Kannel => {
                let url = kannel::incoming(self.url, message, &addressed, names);
                self.get(id, &url)
            }
            CallbackForm::Jasmin | CallbackForm::JasminGet => {
                self.fields(id, &jasmin::incoming(message, &addressed, names))
            }
        }
    }

    /// What an administrator sends to see whether a receiver works.
    ///
    /// # Errors
    /// The URL is none.
    pub fn test(&self, account: &str, at: i64) -> Result<Callback, String> {
        let id = body::test_id(account, at);
        match self.form {
            CallbackForm::Standard => self.post(id, JSON, body::test(account, at)),
            CallbackForm::Kannel => self.get(id, &kannel::test(self.url, account, at)),
            CallbackForm::Jasmin | CallbackForm::JasminGet => {
                let fields = jasmin::test(&id, account);
                self.fields(id, &fields)
            }
        }
    }

    fn post(
        &self,
        id: String,
        content_type: &'static str,
        body: Bytes,
    ) -> Result<Callback, String> {
        Ok(Callback {
            method: Method::POST,
            content_type: Some(content_type),
            body,
            ..self.get(id, self.url)?
        })
    }

    fn get(&self, id: String, url: &str) -> Result<Callback, String> {
        let target = target(url)?;
        let path = match self.form {
            CallbackForm::Kannel => fixed_path(self.url, &target),
            _ => target.uri().path(),
        };
        Ok(Callback {
            id,
            path: path.into(),
            target,
            method: Method::GET,
            content_type: None,
            body: Bytes::new(),
            acknowledgement: None,
        })
    }

    fn fields(&self, id: String, fields: &FormFields) -> Result<Callback, String> {
        let mut form = String::new();
        for (name, value) in fields {
            if !form.is_empty() {
                form.push('&');
            }
            form.push_str(name);
            form.push('=');
            encode(value, &mut form);
        }
        let callback = if self.form == CallbackForm::JasminGet {
            let joint = if self.url.contains('?') { '&' } else { '?' };
            self.get(id, &format!("{}{joint}{form}", self.url))
        } else {
            self.post(id, FORM, form.into())
        };
        Ok(Callback {
            acknowledgement: Some(ACK),
            ..callback?
        })
    }
}

/// The path that a URL with escapes has for each message: up to the first escape.
fn fixed_path<'t>(url: &str, target: &'t CallbackTarget) -> &'t str {
    let path = target.uri().path();
    let before_query = url.split('?').next().unwrap_or(url);
    let Some(escape) = before_query.find('%') else {
        return path;
    };
    let host = before_query.find("://").map_or(0, |at| at + 3);
    let start = before_query[host..]
        .find('/')
        .map_or(escape, |at| host + at);
    path.get(..escape.saturating_sub(start)).unwrap_or(path)
}

fn target(url: &str) -> Result<CallbackTarget, String> {
    CallbackTarget::parse(url).map_err(|error| format!("the URL of the callback {error}"))
}

#[cfg(test)]
mod tests;
