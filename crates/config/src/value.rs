//! The kinds of single values: numbers, texts, durations, addresses, secrets, statuses, steps.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use figment::value::Value;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value as Json, json};

use super::setting::Leaf;
use smsc_domain::command_status;
use smsc_domain::route::{RoutingStep, TargetShare};

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const MINUTE: Duration = Duration::from_secs(60);
pub(super) const HOUR: Duration = Duration::from_secs(3_600);
pub(super) const DAY: Duration = Duration::from_secs(86_400);

/// A command_status by name or number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Status(u32);

/// A number that people write in hexadecimal.
#[derive(Debug, Clone, Copy)]
pub struct Hex(u8);

/// Distribution lists of an account, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DistributionLists(BTreeMap<String, Vec<String>>);

/// Text as a TOML string.
pub(super) fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

/// JSON Schema of a table whose keys people choose.
pub(super) fn table_of(values: Json) -> Json {
    json!({ "type": "object", "additionalProperties": values })
}

/// Makes a form in which a number is written from the number, and back.
macro_rules! stands_for {
    ($Written:ident, $kept:ty) => {
        impl From<$Written> for $kept {
            fn from(written: $Written) -> Self {
                written.0
            }
        }

        impl From<$kept> for $Written {
            fn from(kept: $kept) -> Self {
                Self(kept)
            }
        }
    };
}
pub(super) use stands_for;

/// Makes a value of a map whose keys people choose: what its values are, what it is called, an example, and how a value
/// is read.
macro_rules! table_by_name {
    ($Table:ident of $One:ty, $kind:literal, $example:literal, $parse:expr) => {
        impl $crate::setting::Leaf for $Table {
            const EXAMPLE: &'static str = $example;
            const KIND: &'static str = $kind;

            fn schema() -> serde_json::Value {
                $crate::value::table_of(<$One as $crate::setting::Setting>::schema())
            }

            fn parse(value: &figment::value::Value) -> Option<Self> {
                let parse: fn(&figment::value::Value) -> Option<$One> = $parse;
                let pairs = value.as_dict()?.iter();
                let read = pairs.map(|(key, one)| Some((key.clone(), parse(one)?)));
                read.collect::<Option<_>>().map(Self)
            }

            fn show(&self) -> String {
                let pair = |(key, one): (&String, &$One)| {
                    let one = <$One as $crate::setting::Setting>::show(one);
                    format!("{} = {one}", $crate::value::quoted(key))
                };
                let pairs: Vec<String> = self.0.iter().map(pair).collect();
                if pairs.is_empty() {
                    "{}".to_owned()
                } else {
                    format!("{{ {} }}", pairs.join(", "))
                }
            }

            fn json(&self) -> serde_json::Value {
                let pairs = self.0.iter();
                pairs
                    .map(|(key, one)| (key.clone(), serde_json::Value::from(<$One>::clone(one))))
                    .collect()
            }
        }
    };
}
pub(super) use table_by_name;

macro_rules! whole_numbers {
    ($($number:ty = $kind:literal),+) => { $(
        impl Leaf for $number {
            const EXAMPLE: &'static str = "a number without quotes";
            const KIND: &'static str = $kind;

            fn schema() -> Json {
                json!({ "type": "integer", "minimum": 0, "maximum": <$number>::MAX })
            }

            fn parse(value: &Value) -> Option<Self> {
                let Value::Num(_, number) = value else {
                    return None;
                };
                let whole = number.to_u128().or_else(|| number.to_i128()?.try_into().ok())?;
                Self::try_from(whole).ok()
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    )+ };
}

// Only a narrow bound is documented; the sensible ranges are marks of the fields.
whole_numbers!(
    u8 = "a whole number up to 255",
    u32 = "a whole number",
    u64 = "a whole number",
    usize = "a whole number"
);

impl Leaf for f64 {
    const EXAMPLE: &'static str = "a number without quotes";
    const KIND: &'static str = "a number";

    fn schema() -> Json {
        json!({ "type": "number" })
    }

    fn parse(value: &Value) -> Option<Self> {
        let Value::Num(_, number) = value else {
            return None;
        };
        let whole = || number.to_i128().map(|whole| whole as f64);
        // JSON's numbers are unsigned where they can be.
        let unsigned = || number.to_u128().map(|whole| whole as f64);
        number.to_f64().or_else(whole).or_else(unsigned)
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Leaf for bool {
    const EXAMPLE: &'static str = "true or false, without quotes";
    const KIND: &'static str = "true or false";

    fn schema() -> Json {
        json!({ "type": "boolean" })
    }

    fn parse(value: &Value) -> Option<Self> {
        value.to_bool()
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Leaf for String {
    const EXAMPLE: &'static str = "it in quotes";

    fn parse(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }

    fn show(&self) -> String {
        quoted(self)
    }

    fn json(&self) -> Json {
        Json::from(self.as_str())
    }
}

/// The format of what names a file, in the schema.
pub(super) const PATH: &str = "path";

impl Leaf for PathBuf {
    const EXAMPLE: &'static str = "it in quotes";
    const KIND: &'static str = "a path";

    fn schema() -> Json {
        json!({ "type": "string", "format": PATH })
    }

    fn parse(value: &Value) -> Option<Self> {
        value
            .as_str()
            .filter(|text| !text.is_empty())
            .map(Self::from)
    }

    fn show(&self) -> String {
        quoted(&self.to_string_lossy())
    }

    fn json(&self) -> Json {
        Json::from(self.to_string_lossy())
    }
}

impl Leaf for SocketAddr {
    const EXAMPLE: &'static str = "\"127.0.0.1:2775\" or \"[::]:2775\"";
    const KIND: &'static str = "an IP address with port";

    fn parse(value: &Value) -> Option<Self> {
        value.as_str()?.trim().parse().ok()
    }

    fn show(&self) -> String {
        quoted(&self.to_string())
    }
}

impl Leaf for SecretString {
    const EXAMPLE: &'static str = "it in quotes";
    const KIND: &'static str = "secret text";
    const SECRET: bool = true;

    fn schema() -> Json {
        json!({ "type": "string", "writeOnly": true })
    }

    fn parse(value: &Value) -> Option<Self> {
        value.as_str().map(Self::from)
    }

    fn show(&self) -> String {
        if self.expose_secret().is_empty() {
            return quoted("");
        }
        quoted("***")
    }

    fn json(&self) -> Json {
        Json::from(self.expose_secret())
    }

    fn same(&self, other: &Self) -> bool {
        self.expose_secret() == other.expose_secret()
    }
}

// === Duration ===

/// Units, the longest first, in milliseconds.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// How a duration is written, as a regular expression.
const DURATION: &str = "^(0|([0-9]+(ms|s|m|h|d))+)$";

/// Days are shown from here on; below, hours are usual ("72h").
const DAYS_FROM_MS: u64 = 5 * 86_400_000;

impl Leaf for Duration {
    const EXAMPLE: &'static str = "\"500ms\", \"30s\", \"15m\", \"72h\" or \"10d\"";
    const KIND: &'static str = "a duration";

    fn schema() -> Json {
        json!({ "type": "string", "format": "span", "pattern": DURATION })
    }

    fn parse(value: &Value) -> Option<Self> {
        parse_duration(value.as_str()?)
    }

    fn show(&self) -> String {
        quoted(&show_duration(*self))
    }
}

/// `90s`, `1h30m`, `0s`: numbers with units one after another; `0` needs no unit.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    let mut total: u64 = 0;
    let mut parts = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit_ends = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (_, factor) = UNITS.iter().find(|(unit, _)| *unit == &rest[..unit_ends])?;
        total = total.checked_add(number.checked_mul(*factor)?)?;
        rest = &rest[unit_ends..];
        parts += 1;
    }
    (parts > 0).then(|| Duration::from_millis(total))
}

/// The shortest exact form with one unit: `90s`, `15m`, `72h`, `10d`.
pub fn show_duration(duration: Duration) -> String {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if millis == 0 {
        return "0s".to_owned();
    }
    let fits = |(unit, factor): &(&str, u64)| {
        millis.is_multiple_of(*factor) && (*unit != "d" || millis >= DAYS_FROM_MS)
    };
    let (unit, factor) = UNITS.into_iter().find(fits).unwrap_or(("ms", 1));
    format!("{}{unit}", millis / factor)
}

// === Status ===

stands_for!(Status, u32);

impl Leaf for Status {
    const EXAMPLE: &'static str = "\"ESME_RTHROTTLED\", 0x58 or 88";
    const KIND: &'static str = "a command_status (name or number)";

    fn schema() -> Json {
        json!({ "type": ["string", "integer"], "format": "command_status" })
    }

    fn parse(value: &Value) -> Option<Self> {
        match value {
            Value::Num(..) => <u32 as Leaf>::parse(value).map(Self),
            _ => command_status::parse(value.as_str()?).map(Self),
        }
    }

    fn show(&self) -> String {
        match command_status::name(self.0) {
            Some(name) => quoted(name),
            None => format!("{:#x}", self.0),
        }
    }
}

// === Hex ===

stands_for!(Hex, u8);

impl Leaf for Hex {
    const EXAMPLE: &'static str = "0x34 or 52, without quotes";
    const KIND: &'static str = <u8 as Leaf>::KIND;

    fn schema() -> Json {
        json!({ "type": "integer", "minimum": 0, "maximum": u8::MAX, "format": "hex" })
    }

    fn parse(value: &Value) -> Option<Self> {
        <u8 as Leaf>::parse(value).map(Self)
    }

    fn show(&self) -> String {
        format!("{:#04x}", self.0)
    }

    fn json(&self) -> Json {
        Json::from(self.0)
    }
}

// === Step of a route ===

impl Leaf for RoutingStep<String> {
    const EXAMPLE: &'static str = "\"name\" or { name = 70, other = 30 }";
    const KIND: &'static str = "a target, or a table of targets with weights";

    fn schema() -> Json {
        json!({ "anyOf": [{ "type": "string" }, table_of(<u32 as Leaf>::schema())], "format": "step" })
    }

    fn parse(value: &Value) -> Option<Self> {
        if let Some(target) = value.as_str() {
            return Some(Self::single(target.to_owned()));
        }
        let shares = value
            .as_dict()?
            .iter()
            .map(|(target, weight)| {
                Some(TargetShare {
                    target: target.clone(),
                    weight: <u32 as Leaf>::parse(weight)?,
                })
            })
            .collect::<Option<Vec<_>>>()?;
        (!shares.is_empty()).then_some(Self { shares })
    }

    fn show(&self) -> String {
        if let [only] = self.shares.as_slice() {
            return quoted(&only.target);
        }
        let shares: Vec<String> = self
            .shares
            .iter()
            .map(|share| format!("{} = {}", quoted(&share.target), share.weight))
            .collect();
        format!("{{ {} }}", shares.join(", "))
    }

    fn json(&self) -> Json {
        if let [only] = self.shares.as_slice() {
            return Json::from(only.target.as_str());
        }
        let share = |share: &TargetShare<String>| (share.target.clone(), Json::from(share.weight));
        self.shares.iter().map(share).collect()
    }
}

// === Lists ===

impl DistributionLists {
    /// The addresses of a list.
    pub fn members(&self, name: &str) -> Option<&[String]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// Every list, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.0
            .iter()
            .map(|(name, members)| (name.as_str(), members.as_slice()))
    }
}

table_by_name!(
    DistributionLists of Vec<String>,
    "a table of lists of text",
    "{ name = [\"447700900001\", \"447700900002\"] }",
    |members| {
        let members = members.as_array()?.iter();
        members.map(<String as Leaf>::parse).collect()
    }
);

#[cfg(test)]
mod tests;
