//! What an element of TCAP and MAP is: its name, and how its value is read.
//!
//! Tables of [`Member`]s name the elements of a sequence in their order; [`super::tcap`] walks over the octets with them. Sections
//! are those of 3GPP TS 29.002 unless another standard is written.

use super::operations::{
    ABORT_SOURCE, ASSOCIATE_RESULT, PROVIDER_DIAGNOSTIC, REFUSE_REASON, USER_DIAGNOSTIC,
};

/// How the value of an element is read.
#[derive(Clone, Copy)]
pub enum Shape {
    /// Elements, of these names.
    Sequence(&'static [Member]),
    /// A number; the names of 0, 1 and so on.
    Number(&'static [&'static str]),
    /// P-AbortCause.
    AbortCause,
    /// ISDN-AddressString and AddressString: nature and plan in an octet, then digits.
    Address,
    /// TBCD-STRING.
    Digits,
    /// A TPDU.
    Tpdu,
    ObjectIdentifier,
    /// BOOLEAN.
    Truth,
    /// Bits from the first, with their names.
    Bits(&'static [&'static str]),
    /// Octets, or NULL.
    Octets,
}

/// One element of a sequence.
#[derive(Clone, Copy)]
pub struct Member {
    pub tag: u32,
    pub name: &'static str,
    pub shape: Shape,
    /// Where it is defined; empty where the name says it.
    pub section: &'static str,
}

// === impl Member ===

impl Member {
    /// Which choice it is one of: what is in front of the colon of its name.
    pub fn choice(&self) -> Option<&'static str> {
        self.name.split_once(": ").map(|(choice, _)| choice)
    }
}

pub const fn member(tag: u32, name: &'static str, shape: Shape) -> Member {
    Member {
        tag,
        name,
        shape,
        section: "",
    }
}

pub const fn defined(tag: u32, name: &'static str, shape: Shape, section: &'static str) -> Member {
    Member {
        tag,
        name,
        shape,
        section,
    }
}

/// Begin, Continue, End, Abort, Unidirectional: which elements they are made of (Q.773 §3.1).
pub const MESSAGE: &[Member] = &[
    defined(0x48, "otid", Shape::Octets, "Q.773 §3.1"),
    defined(0x49, "dtid", Shape::Octets, "Q.773 §3.1"),
    defined(0x4A, "P-Abort cause", Shape::AbortCause, "Q.773 §3.1"),
    defined(
        0x6B,
        "dialogue portion",
        Shape::Sequence(DIALOGUE),
        "Q.773 §3.2",
    ),
    defined(0x6C, "components", Shape::Sequence(&[]), "Q.773 §3.1"),
];

const DIALOGUE: &[Member] = &[member(0x28, "external", Shape::Sequence(EXTERNAL))];

const EXTERNAL: &[Member] = &[
    member(0x06, "dialogue syntax", Shape::ObjectIdentifier),
    member(0xA0, "single ASN.1 type", Shape::Sequence(DIALOGUE_PDU)),
];

const DIALOGUE_PDU: &[Member] = &[
    defined(0x60, "AARQ", Shape::Sequence(REQUEST), "Q.773 §3.2"),
    defined(0x61, "AARE", Shape::Sequence(RESPONSE), "Q.773 §3.2"),
    defined(0x64, "ABRT", Shape::Sequence(ABORT), "Q.773 §3.2"),
];

const REQUEST: &[Member] = &[
    member(0x80, "protocol version", Shape::Bits(&["version 1"])),
    member(0xA1, "application context", Shape::Sequence(CONTEXT)),
    member(0xBE, "user information", Shape::Sequence(USER_INFORMATION)),
];

const RESPONSE: &[Member] = &[
    member(0x80, "protocol version", Shape::Bits(&["version 1"])),
    member(0xA1, "application context", Shape::Sequence(CONTEXT)),
    member(0xA2, "result", Shape::Sequence(RESULT)),
    member(0xA3, "diagnostic", Shape::Sequence(DIAGNOSTIC)),
    member(0xBE, "user information", Shape::Sequence(USER_INFORMATION)),
];

const ABORT: &[Member] = &[
    member(0x80, "abort source", Shape::Number(ABORT_SOURCE)),
    member(0xBE, "user information", Shape::Sequence(USER_INFORMATION)),
];

const CONTEXT: &[Member] = &[member(0x06, "context", Shape::ObjectIdentifier)];
const RESULT: &[Member] = &[member(0x02, "result", Shape::Number(ASSOCIATE_RESULT))];
const DIAGNOSTIC: &[Member] = &[
    member(0xA1, "of the user", Shape::Sequence(OF_USER)),
    member(0xA2, "of the provider", Shape::Sequence(OF_PROVIDER)),
];
const OF_USER: &[Member] = &[member(0x02, "reason", Shape::Number(USER_DIAGNOSTIC))];
const OF_PROVIDER: &[Member] = &[member(0x02, "reason", Shape::Number(PROVIDER_DIAGNOSTIC))];

/// What MAP says in the dialogue portion (§7.4, 17.4).
const USER_INFORMATION: &[Member] = &[member(0x28, "external", Shape::Sequence(MAP_EXTERNAL))];

const MAP_EXTERNAL: &[Member] = &[
    member(0x06, "syntax", Shape::ObjectIdentifier),
    member(0xA0, "single ASN.1 type", Shape::Sequence(MAP_DIALOGUE)),
];

const MAP_DIALOGUE: &[Member] = &[
    defined(0xA0, "MAP-OPEN", Shape::Sequence(OPEN), "§7.3.1"),
    defined(0xA1, "MAP-ACCEPT", Shape::Sequence(&[]), "§7.3.1"),
    defined(0xA2, "MAP-CLOSE", Shape::Sequence(&[]), "§7.3.2"),
    defined(0xA3, "MAP-REFUSE", Shape::Sequence(REFUSE), "§7.3.1"),
    defined(0xA4, "MAP-U-ABORT", Shape::Sequence(&[]), "§7.3.4"),
    defined(
        0xA5,
        "MAP-P-ABORT",
        Shape::Sequence(PROVIDER_ABORT),
        "§7.3.5",
    ),
];

const OPEN: &[Member] = &[
    member(0x80, "destination reference", Shape::Address),
    member(0x81, "origination reference", Shape::Address),
];
const REFUSE: &[Member] = &[member(0x0A, "reason", Shape::Number(REFUSE_REASON))];
const PROVIDER_ABORT: &[Member] = &[member(0x0A, "reason", Shape::Number(&[]))];
