//! Reads the arguments of calls. Every error names the argument; one that nothing reads is an error, too.

use std::ops::RangeInclusive;

use crate::content::compose;
use crate::domain::moment;
use crate::http::problem::Problem;
use crate::xml_rpc::XmlRpcValue;

/// Octets of a time of SMPP: `YYMMDDhhmmsstnnp`.
const SMPP_TIME: usize = 16;

/// The members of a struct that are not read yet.
pub(super) struct Arguments(Vec<(String, XmlRpcValue)>);

/// The parameters of a call that has these.
pub(super) fn only<const N: usize>(
    params: Vec<XmlRpcValue>,
    names: [&str; N],
) -> Result<[XmlRpcValue; N], Problem> {
    params.try_into().map_err(|params: Vec<XmlRpcValue>| {
        let (field, detail) = match names.get(params.len()) {
            Some(missing) => (*missing, "it is missing".to_owned()),
            None => ("params", format!("there are {}, not {N}", params.len())),
        };
        Problem::bad_value(field, detail)
    })
}

/// A text that may be written as a number: a message id, a number of a subscriber.
pub(super) fn text_of(field: &str, value: XmlRpcValue) -> Result<String, Problem> {
    match value {
        XmlRpcValue::String(text) => Ok(text),
        XmlRpcValue::Int(number) => Ok(number.to_string()),
        other => Err(wrong_type(field, "string", &other)),
    }
}

pub(super) fn wrong_type(field: &str, expected: &str, found: &XmlRpcValue) -> Problem {
    let detail = format!("{expected} is expected, not {}", found.kind());
    Problem::bad_value(field, detail)
}

// === impl Arguments ===

impl Arguments {
    /// Those of this struct; `field` is what it is called.
    pub(super) fn of(field: &str, value: XmlRpcValue) -> Result<Self, Problem> {
        match value {
            XmlRpcValue::Struct(members) => Ok(Self(members)),
            other => Err(wrong_type(field, "struct", &other)),
        }
    }

    /// The value of an argument; nil is the same as none.
    pub(super) fn take(&mut self, name: &str) -> Option<XmlRpcValue> {
        let at = self.0.iter().position(|(found, _)| found == name)?;
        let (_, value) = self.0.swap_remove(at);
        (value != XmlRpcValue::Nil).then_some(value)
    }

    /// Any text, or a number.
    pub(super) fn text_of(&mut self, name: &str) -> Result<Option<String>, Problem> {
        let value = self.take(name);
        value.map(|value| text_of(name, value)).transpose()
    }

    /// A text of at most `longest` printable ASCII characters.
    pub(super) fn text(&mut self, name: &str, longest: usize) -> Result<Option<String>, Problem> {
        let Some(text) = self.text_of(name)? else {
            return Ok(None);
        };
        let is_fine = |octet: u8| (b' '..=b'~').contains(&octet);
        if text.len() > longest || !text.bytes().all(is_fine) {
            let detail = format!("at most {longest} printable ASCII characters are possible");
            return Err(Problem::bad_value(name, detail));
        }
        Ok(Some(text))
    }

    /// A number, or its digits as a string.
    pub(super) fn number(
        &mut self,
        name: &str,
        range: RangeInclusive<i64>,
    ) -> Result<Option<i64>, Problem> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let number = match &value {
            XmlRpcValue::Int(number) => Some(*number),
            XmlRpcValue::Boolean(is) => Some(i64::from(*is)),
            XmlRpcValue::String(digits) => digits.trim().parse().ok(),
            other => return Err(wrong_type(name, "int", other)),
        };
        let number = number.filter(|number| range.contains(number));
        let (least, most) = (range.start(), range.end());
        number.map(Some).ok_or_else(|| {
            let detail = format!("a number from {least} to {most} is expected");
            Problem::bad_value(name, detail)
        })
    }

    /// Unix milliseconds of a dateTime.iso8601, or of a string in RFC 3339 or as SMPP writes times.
    pub(super) fn time(&mut self, name: &str, now: i64) -> Result<Option<i64>, Problem> {
        let ms = match self.take(name) {
            None => return Ok(None),
            Some(XmlRpcValue::DateTime(ms)) => Some(ms).filter(|ms| *ms >= 0),
            Some(XmlRpcValue::String(text)) => match text.trim() {
                smpp if smpp.len() == SMPP_TIME && smpp.ends_with(['+', '-', 'R']) => {
                    compose::time_of(smpp, now)
                }
                // A number alone is neither.
                text => text.contains('-').then(|| moment::parse(text)).flatten(),
            },
            Some(other) => return Err(wrong_type(name, "dateTime.iso8601", &other)),
        };
        ms.map(Some).ok_or_else(|| {
            let detail = "a dateTime.iso8601 in UTC is expected, or a string such as 2036-11-21T09:00:00Z or \
                          361121090000000+";
            Problem::bad_value(name, detail)
        })
    }

    /// Nothing is left.
    pub(super) fn finish(self) -> Result<(), Problem> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(Problem::bad_value(name, "there is no such argument here")),
        }
    }
}
