//! XML-RPC (xmlrpc.com/spec.md): calls as octets to values, and answers back.
//!
//! Called by the HTTP side for `/RPC2`. Pure. Invariants: what was written reads as the same value; no document makes
//! the reader use more memory than a multiple of its octets, nor more stack than [`MAX_DEPTH`] values; there is no
//! document type, and no entity but the five of XML.

mod charset;
mod read;
mod scalar;
mod value;
mod write;

#[cfg(test)]
mod tests;

pub use read::{Call, MAX_DEPTH, MAX_VALUES, read_call};
pub use value::XmlRpcValue;
pub use write::{fault, response};

/// Why a document is no call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the encoding {0:?} is not supported; use UTF-8")]
    Encoding(String),
    #[error("the document is not in {0}, in which it says to be")]
    NotInEncoding(&'static str),
    #[error("a document type (DOCTYPE) is not allowed")]
    DocType,
    #[error("there is no entity &{0}; here; XML has amp, lt, gt, quot and apos")]
    Entity(String),
    #[error("XML does not allow the character U+{0:04X}")]
    Character(u32),
    #[error("values are more than {MAX_DEPTH} deep in each other")]
    TooDeep,
    #[error("there are more than {MAX_VALUES} values")]
    TooMany,
    /// No well-formed XML.
    #[error("no well-formed XML at octet {at}: {what}")]
    Xml { at: u64, what: String },
    /// XML, and no XML-RPC.
    #[error("no XML-RPC call at octet {at}: {what}")]
    Grammar { at: u64, what: String },
    /// A value that is not what its element says.
    #[error("{text:?} is no {kind}")]
    Scalar { kind: &'static str, text: String },
}
