//! The values of XML-RPC.

use bytes::Bytes;

/// A value. `int`, `i4` and `i8` are one kind here: what fits in 32 bits is written as `int`.
#[derive(Debug, Clone, PartialEq)]
pub enum XmlRpcValue {
    Int(i64),
    Boolean(bool),
    String(String),
    /// Finite.
    Double(f64),
    /// Unix milliseconds, at a whole second when it is written. XML-RPC says no time zone; here it is UTC.
    DateTime(i64),
    Base64(Bytes),
    Array(Vec<XmlRpcValue>),
    /// In the order of the document; no name is there twice.
    Struct(Vec<(String, XmlRpcValue)>),
    Nil,
}

// === impl XmlRpcValue ===

impl XmlRpcValue {
    pub fn string(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    /// The name of its element.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Int(_) => "int",
            Self::Boolean(_) => "boolean",
            Self::String(_) => "string",
            Self::Double(_) => "double",
            Self::DateTime(_) => "dateTime.iso8601",
            Self::Base64(_) => "base64",
            Self::Array(_) => "array",
            Self::Struct(_) => "struct",
            Self::Nil => "nil",
        }
    }
}

impl From<&str> for XmlRpcValue {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}
