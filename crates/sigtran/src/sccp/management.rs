//! What SCCPs tell one another about their subsystems (ITU-T Q.713 §5.3): data of messages to SSN 1.
//!
//! Who was told that a subsystem is out of service asks for it now and then (SST), and sends to it again
//! when that is answered (SSA).

use bytes::Bytes;

use crate::point_code::PointCode;

/// Which of the messages.
pub const SUBSYSTEM_ALLOWED: u8 = 1;
pub const SUBSYSTEM_PROHIBITED: u8 = 2;
pub const SUBSYSTEM_TEST: u8 = 3;

/// A message about a subsystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubsystemMessage {
    /// [`SUBSYSTEM_ALLOWED`] and the others.
    pub kind: u8,
    /// Which subsystem.
    pub ssn: u8,
    /// Where.
    pub point_code: PointCode,
}

// === impl SubsystemMessage ===

impl SubsystemMessage {
    /// As data.
    #[must_use]
    pub fn encode(self) -> Bytes {
        let [low, high, ..] = self.point_code.0.to_le_bytes();
        // The last octet: how many subsystems replace one another is not known.
        Bytes::copy_from_slice(&[self.kind, self.ssn, low, high & 0x3F, 0])
    }

    /// Reads one, or nothing when it is too short.
    #[must_use]
    pub fn decode(data: &[u8]) -> Option<Self> {
        let [kind, ssn, low, high, _multiplicity] = *data.first_chunk::<5>()?;
        Some(Self {
            kind,
            ssn,
            point_code: PointCode(u32::from(u16::from_le_bytes([low, high])) & PointCode::MAX),
        })
    }
}
