//! The members of a JSON object as texts, read without making anything larger of them.
//!
//! The body comes from who has not logged in: a tree of [`serde_json::Value`] may take seventy times its octets.

use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::args::MOST;

/// The members, in their order; of two with one name the last one counts. A string is its characters, anything else as
/// it is written in JSON.
pub(super) struct JsonMembers(pub Vec<(String, Bytes)>);

/// Writes a value to a text.
struct JsonText<'t> {
    to: &'t mut String,
    /// Whether it is in a list or an object: a string has its quotes there.
    inside: bool,
}

// === impl JsonMembers ===

impl<'de> Deserialize<'de> for JsonMembers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(JsonMembersVisitor)
    }
}

struct JsonMembersVisitor;

impl<'de> Visitor<'de> for JsonMembersVisitor {
    type Value = JsonMembers;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonMembers, A::Error> {
        let mut members: Vec<(String, Bytes)> = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            let mut text = String::new();
            map.next_value_seed(JsonText {
                to: &mut text,
                inside: false,
            })?;
            let text = Bytes::from(text);
            match members.iter().position(|(known, _)| *known == name) {
                Some(at) => members[at].1 = text,
                None if members.len() == MOST => return Err(A::Error::custom("too many members")),
                None => members.push((name, text)),
            }
        }
        Ok(JsonMembers(members))
    }
}

// === impl JsonText ===

impl JsonText<'_> {
    fn put<E: Error>(self, what: &(impl serde::Serialize + ?Sized)) -> Result<(), E> {
        let text = serde_json::to_string(what).map_err(E::custom)?;
        self.to.push_str(&text);
        Ok(())
    }

    fn next(&mut self) -> JsonText<'_> {
        JsonText {
            to: self.to,
            inside: true,
        }
    }
}

impl<'de> DeserializeSeed<'de> for JsonText<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonText<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.put(&value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.put(&value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.put(&value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.put(&value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        if self.inside {
            self.put(value)
        } else {
            self.to.push_str(value);
            Ok(())
        }
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.put(&())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        self.to.push('[');
        let start = self.to.len();
        loop {
            let before = self.to.len();
            if before > start {
                self.to.push(',');
            }
            if list.next_element_seed(self.next())?.is_none() {
                self.to.truncate(before);
                self.to.push(']');
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.to.push('{');
        let start = self.to.len();
        while let Some(name) = map.next_key::<String>()? {
            if self.to.len() > start {
                self.to.push(',');
            }
            self.next().put(&name)?;
            self.to.push(':');
            map.next_value_seed(self.next())?;
        }
        self.to.push('}');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Vec<(String, Bytes)>> {
        let members = serde_json::from_str::<JsonMembers>(text).ok()?;
        Some(members.0)
    }

    #[test]
    fn a_string_is_its_characters_and_anything_else_as_it_is_written() {
        let text = r#"{"a": "b\u00e9\"", "n": -7, "f": 1.5, "t": true, "z": null, "e": [], "o": {},
                       "l": [1, "x", [2, {"y": "\n"}], {}], "a": "last"}"#;
        let members = read(text).unwrap();
        let of = |name: &str| {
            let (_, value) = members.iter().find(|(known, _)| known == name).unwrap();
            String::from_utf8_lossy(value).into_owned()
        };
        assert_eq!(
            [of("a"), of("n"), of("f"), of("t"), of("z")],
            ["last", "-7", "1.5", "true", "null"]
        );
        assert_eq!([of("e"), of("o")], ["[]", "{}"]);
        assert_eq!(of("l"), r#"[1,"x",[2,{"y":"\n"}],{}]"#);
    }

    #[test]
    fn there_are_not_too_many() {
        let of = |count: usize| {
            let members: Vec<String> = (0..count).map(|at| format!("\"{at}\": 1")).collect();
            read(&format!("{{{}}}", members.join(","))).map(|members| members.len())
        };
        assert_eq!(of(MOST), Some(MOST));
        assert_eq!(of(MOST + 1), None);
        assert!(read("[1]").is_none() && read("{\"a\": [}").is_none());
        assert!(read(&format!("{{\"a\": {}", "[".repeat(10_000))).is_none());
    }
}
