//! The writer of answers.

use std::fmt::Write as _;

use crate::read::is_allowed;
use crate::{XmlRpcValue, scalar};

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<methodResponse>";
const TAIL: &str = "</methodResponse>\n";

/// The answer with a result.
pub fn response(value: &XmlRpcValue) -> String {
    let mut out = format!("{HEAD}<params><param>");
    write(&mut out, value);
    out + "</param></params>" + TAIL
}

/// The answer that says why there is none.
pub fn fault(value: &XmlRpcValue) -> String {
    let mut out = format!("{HEAD}<fault>");
    write(&mut out, value);
    out + "</fault>" + TAIL
}

/// Appends the element `value`.
pub(crate) fn write(out: &mut String, value: &XmlRpcValue) {
    out.push_str("<value>");
    match value {
        XmlRpcValue::Int(number) => {
            let name = i32::try_from(*number).map_or("i8", |_| "int");
            element(out, name, &number.to_string());
        }
        XmlRpcValue::Boolean(is) => element(out, "boolean", if *is { "1" } else { "0" }),
        XmlRpcValue::String(text) => element(out, "string", text),
        // Display writes no exponent, which XML-RPC has not.
        XmlRpcValue::Double(number) => element(out, "double", &number.to_string()),
        XmlRpcValue::DateTime(ms) => {
            let text = scalar::time_text(*ms).unwrap_or_default();
            element(out, "dateTime.iso8601", &text);
        }
        XmlRpcValue::Base64(octets) => element(out, "base64", &scalar::base64_text(octets)),
        XmlRpcValue::Array(values) => {
            out.push_str("<array><data>");
            for value in values {
                write(out, value);
            }
            out.push_str("</data></array>");
        }
        XmlRpcValue::Struct(members) => {
            out.push_str("<struct>");
            for (name, value) in members {
                out.push_str("<member>");
                element(out, "name", name);
                write(out, value);
                out.push_str("</member>");
            }
            out.push_str("</struct>");
        }
        XmlRpcValue::Nil => out.push_str("<nil/>"),
    }
    out.push_str("</value>");
}

fn element(out: &mut String, name: &str, text: &str) {
    // Writing to a String does not fail.
    let _ = write!(out, "<{name}>");
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Readers make a line feed of it otherwise (XML 1.0 §2.11).
            '\r' => out.push_str("&#13;"),
            allowed if is_allowed(allowed) => out.push(allowed),
            // XML has no way to write it.
            _ => out.push(char::REPLACEMENT_CHARACTER),
        }
    }
    let _ = write!(out, "</{name}>");
}
