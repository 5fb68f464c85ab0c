//! The elements of a GSUP message: a tag, a length, a value.
//!
//! [`Elements`] walks them; [`crate::message`] knows what those of short messages mean. All others are
//! passed over, yet they have names for those who look at them.

use bytes::Bytes;

/// The tag of an element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u8);

/// One element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GsupElement {
    /// Its first octet, from the message type, which is octet 0.
    pub at: usize,
    /// Its tag.
    pub tag: Tag,
    /// What its length counts.
    pub value: Bytes,
}

/// An element that does not end within the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutShort {
    /// Its first octet.
    pub at: usize,
    /// Its tag.
    pub tag: Tag,
}

/// The elements behind a message type, in their order; the last one may be [`CutShort`].
#[derive(Debug, Clone)]
pub struct Elements {
    message: Bytes,
    at: usize,
}

// === impl Tag ===

impl Tag {
    pub const IMSI: Tag = Tag(0x01);
    pub const CAUSE: Tag = Tag(0x02);
    pub const MESSAGE_CLASS: Tag = Tag(0x0A);
    pub const SM_RP_MR: Tag = Tag(0x40);
    pub const SM_RP_DA: Tag = Tag(0x41);
    pub const SM_RP_OA: Tag = Tag(0x42);
    pub const SM_RP_UI: Tag = Tag(0x43);
    pub const SM_RP_CAUSE: Tag = Tag(0x44);
    pub const SM_RP_MMS: Tag = Tag(0x45);
    pub const SM_ALERT_REASON: Tag = Tag(0x46);
    pub const SOURCE_NAME: Tag = Tag(0x60);
    pub const DESTINATION_NAME: Tag = Tag(0x61);

    /// Its name in the manual; for tags without one, `element`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            0x01 => "IMSI",
            0x02 => "Cause",
            0x03 => "Auth tuple",
            0x04 => "PDP info complete",
            0x05 => "PDP info",
            0x06 => "Cancel type",
            0x07 => "Freeze P-TMSI",
            0x08 => "MSISDN",
            0x09 => "HLR number",
            0x0A => "Message class",
            0x10 => "PDP context id",
            0x11 => "PDP address",
            0x12 => "Access point name",
            0x13 => "Quality of service",
            0x14 => "Charging characteristics",
            0x20 => "RAND",
            0x21 => "SRES",
            0x22 => "Kc",
            0x23 => "IK",
            0x24 => "CK",
            0x25 => "AUTN",
            0x26 => "AUTS",
            0x27 => "RES",
            0x28 => "CN domain",
            0x30 => "Session id",
            0x31 => "Session state",
            0x35 => "SS info",
            0x40 => "SM-RP-MR",
            0x41 => "SM-RP-DA",
            0x42 => "SM-RP-OA",
            0x43 => "SM-RP-UI",
            0x44 => "SM-RP-Cause",
            0x45 => "SM-RP-MMS",
            0x46 => "SM alert reason",
            0x50 => "IMEI",
            0x51 => "IMEI check result",
            0x60 => "Source name",
            0x61 => "Destination name",
            _ => "element",
        }
    }
}

impl std::fmt::Display for Tag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:#04x})", self.name(), self.0)
    }
}

impl std::fmt::Debug for Tag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

// === impl Elements ===

impl Elements {
    /// The elements of a message whose first octet is its type.
    #[must_use]
    pub fn of(message: &Bytes) -> Self {
        Self {
            message: message.clone(),
            at: 1,
        }
    }
}

impl Iterator for Elements {
    type Item = Result<GsupElement, CutShort>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        let tag = Tag(*self.message.get(at)?);
        let value = at + 2;
        let end = match self.message.get(at + 1) {
            Some(length) => value + usize::from(*length),
            None => usize::MAX,
        };
        if end > self.message.len() {
            self.at = self.message.len();
            return Some(Err(CutShort { at, tag }));
        }
        self.at = end;
        let value = self.message.slice(value..end);
        Some(Ok(GsupElement { at, tag, value }))
    }
}
