//! The table of methods, and what it says about itself (`system.*`).

use super::MULTICALL;
use super::arguments::{Arguments, only, text_of, wrong_type};
use crate::domain::access::KeyRole::{self, Read, Send};
use crate::http::problem::Problem;
use crate::xml_rpc::{Call, XmlRpcValue};

/// A method.
pub(super) struct Method {
    pub name: &'static str,
    /// The role of the key that it needs; `None` for what is open to everybody.
    pub role: Option<KeyRole>,
    /// The type of the result, and those of the parameters after it. Each may have a session before them, too.
    signatures: &'static [&'static [&'static str]],
    help: &'static str,
}

const METHODS: [Method; 9] = [
    Method {
        name: "sms.send",
        role: Some(Send),
        signatures: &[&["struct", "struct"], &["struct", "string", "struct"]],
        help: "Sends one content to one or many user_numbers. Members of the struct: user_numbers and content, and as \
               wanted sp_number, coding, tp_udhi, tp_pid, priority, schedule_time, expire_time, report_flag, \
               service_type, reference, idempotency_key; charge_number, corp_id, fee_type, fee_value, given_value, agent_flag and \
               more_related_to_mt_flag are only stored. Answers when the messages are durable, with id, accepted, \
               refused, and messages: id or fault for each number.",
    },
    Method {
        name: "sms.sendBulk",
        role: Some(Send),
        signatures: &[
            &["array", "array"],
            &["array", "array", "string"],
            &["array", "string", "array"],
            &["array", "string", "array", "string"],
        ],
        help: "Sends a list of structs as sms.send takes them, with a result for each: what sms.send answers, or a \
               struct of faultCode and faultString. At most 1000 messages. The string after it is an idempotency_key.",
    },
    Method {
        name: "sms.status",
        role: Some(Read),
        signatures: &[&["struct", "string"], &["struct", "string", "string"]],
        help: "The state of the message with this id, report_state (0 delivered, 1 waiting, 2 failed), error_code, \
               times and timeline.",
    },
    Method {
        name: "sms.cancel",
        role: Some(Send),
        signatures: &[&["struct", "string"], &["struct", "string", "string"]],
        help: "Cancels the message with this id if it waits: it ends DELETED. done is false if that was ordered and \
               is not seen yet.",
    },
    Method {
        name: "sms.balance",
        role: Some(Read),
        signatures: &[&["struct"], &["struct", "string"]],
        help: "What the account has left: credits if it pays in advance, and its quota of the day.",
    },
    Method {
        name: "system.listMethods",
        role: None,
        signatures: &[&["array"]],
        help: "The names of all methods.",
    },
    Method {
        name: "system.methodHelp",
        role: None,
        signatures: &[&["string", "string"]],
        help: "What a method does.",
    },
    Method {
        name: "system.methodSignature",
        role: None,
        signatures: &[&["array", "string"]],
        help: "The types of a method: a list of lists, each with the type of the result and those of the parameters.",
    },
    Method {
        name: MULTICALL,
        role: None,
        signatures: &[&["array", "array"], &["array", "string", "array"]],
        help: "Carries out a list of structs of methodName and params, one after another; at most 100. Each has a \
               result: a list of one value, or a struct of faultCode and faultString.",
    },
];

/// The method of this name.
pub(super) fn find(name: &str) -> Result<&'static Method, Problem> {
    METHODS
        .iter()
        .find(|method| method.name == name)
        .ok_or_else(|| {
            let detail = format!("there is no method {name:?}; system.listMethods names all");
            Problem::bad_value("methodName", detail)
        })
}

/// Answers what the table knows.
pub(super) fn introspect(name: &str, params: Vec<XmlRpcValue>) -> Result<XmlRpcValue, Problem> {
    if name == "system.listMethods" {
        let [] = only(params, [])?;
        let names = METHODS.iter().map(|method| method.name.into());
        return Ok(XmlRpcValue::Array(names.collect()));
    }
    let [about] = only(params, ["methodName"])?;
    let about = find(&text_of("methodName", about)?)?;
    if name == "system.methodHelp" {
        return Ok(about.help.into());
    }
    let types = |types: &&[&'static str]| {
        let types = types.iter().map(|one| XmlRpcValue::from(*one));
        XmlRpcValue::Array(types.collect())
    };
    Ok(XmlRpcValue::Array(
        about.signatures.iter().map(types).collect(),
    ))
}

/// A call as an element of `system.multicall`.
pub(super) fn call_of(value: XmlRpcValue, at: usize) -> Result<Call, Problem> {
    let mut members = Arguments::of(&format!("calls[{at}]"), value)?;
    let missing = |name| Problem::bad_value(name, "it is missing");
    let method = members.take("methodName");
    let method = method.ok_or_else(|| missing("methodName"))?;
    let params = match members.take("params") {
        None => Vec::new(),
        Some(XmlRpcValue::Array(params)) => params,
        Some(other) => return Err(wrong_type("params", "array", &other)),
    };
    members.finish()?;
    Ok(Call {
        method: text_of("methodName", method)?,
        params,
    })
}
