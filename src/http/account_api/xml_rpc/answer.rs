//! Faults and results.

use serde_json::Value as Json;

use crate::api::ProblemDetails;
use crate::http::problem::Problem;
use crate::xml_rpc::XmlRpcValue;

/// Names of `/v1/messages`, and those of the same here.
const FIELDS: &[(&str, &str)] = &[
    ("to", "user_numbers"),
    ("from", "sp_number"),
    ("send_at", "schedule_time"),
    ("valid_until", "expire_time"),
    ("text", "content"),
    ("header", "content"),
    ("Idempotency-Key", "idempotency_key"),
];
const BAD_REQUEST: u16 = 400;
/// What `/v1/messages` answers when a message cannot be accepted because of a field.
const UNPROCESSABLE: u16 = 422;

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub code: u16,
    /// Begins with the name of the argument that is wrong, if one is.
    pub text: String,
}

/// A struct of these members.
pub(super) fn members<const N: usize>(
    members: [(&str, XmlRpcValue); N],
) -> Vec<(String, XmlRpcValue)> {
    let named = |(name, value): (&str, XmlRpcValue)| (name.to_owned(), value);
    members.into_iter().map(named).collect()
}

/// What is in JSON.
pub(super) fn of_json(json: Json) -> XmlRpcValue {
    match json {
        Json::Null => XmlRpcValue::Nil,
        Json::Bool(is) => XmlRpcValue::Boolean(is),
        Json::String(text) => XmlRpcValue::String(text),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => XmlRpcValue::Int(number),
            (None, Some(number)) => XmlRpcValue::Double(number),
            (None, None) => XmlRpcValue::String(number.to_string()),
        },
        Json::Array(values) => XmlRpcValue::Array(values.into_iter().map(of_json).collect()),
        Json::Object(members) => {
            let named = |(name, value)| (name, of_json(value));
            XmlRpcValue::Struct(members.into_iter().map(named).collect())
        }
    }
}

// === impl Fault ===

impl From<&ProblemDetails> for Fault {
    fn from(problem: &ProblemDetails) -> Self {
        let code = match problem.status {
            UNPROCESSABLE => BAD_REQUEST,
            other => other,
        };
        let Some(field) = problem.field.as_deref() else {
            return Self {
                code,
                text: problem.detail.clone(),
            };
        };
        let known = FIELDS.iter().find(|(there, _)| *there == field);
        let name = known.map_or(field, |(_, here)| here);
        let said = problem.detail.strip_prefix(field);
        let said = said.map(|rest| rest.trim_start_matches([':', ' ']));
        Self {
            code,
            text: format!("{name}: {}", said.unwrap_or(&problem.detail)),
        }
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self::from(&problem.details())
    }
}

impl From<Fault> for XmlRpcValue {
    fn from(fault: Fault) -> Self {
        Self::Struct(members([
            ("faultCode", Self::Int(fault.code.into())),
            ("faultString", Self::String(fault.text)),
        ]))
    }
}
