//! What a DATA message carries: a message of an MTP3 user with its label (RFC 4666 §3.3.1).

use bytes::{BufMut, Bytes, BytesMut};

use super::{M3uaParameter, tag};
use crate::point_code::PointCode;

/// The service indicator of SCCP (ITU-T Q.704 §14.2.1).
pub const SERVICE_SCCP: u8 = 3;

/// Octets before the message.
const LABEL: usize = 12;

/// A message with whence, whither and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtocolData {
    /// OPC: whence.
    pub originating: PointCode,
    /// DPC: whither.
    pub destination: PointCode,
    /// SI: for which user part, [`SERVICE_SCCP`].
    pub service: u8,
    /// NI: 0 international, 2 national, 3 spare for national use.
    pub network_indicator: u8,
    /// MP: its priority, where the network has priorities.
    pub priority: u8,
    /// SLS: messages with the same one stay in order; 0 to 15.
    pub selection: u8,
    /// The message.
    pub data: Bytes,
}

// === impl ProtocolData ===

impl ProtocolData {
    /// As a parameter.
    #[must_use]
    pub fn to_parameter(&self) -> M3uaParameter {
        let mut value = BytesMut::with_capacity(LABEL + self.data.len());
        value.put_u32(self.originating.0);
        value.put_u32(self.destination.0);
        value.put_slice(&[
            self.service,
            self.network_indicator,
            self.priority,
            self.selection,
        ]);
        value.put_slice(&self.data);
        M3uaParameter::new(tag::PROTOCOL_DATA, value)
    }

    /// Reads it from the value of its parameter, or nothing when that is shorter than a label.
    #[must_use]
    pub fn of_value(value: &Bytes) -> Option<Self> {
        let (label, _) = value.split_first_chunk::<LABEL>()?;
        let [
            o0,
            o1,
            o2,
            o3,
            d0,
            d1,
            d2,
            d3,
            service,
            network_indicator,
            priority,
            selection,
        ] = *label;
        Some(Self {
            originating: PointCode(u32::from_be_bytes([o0, o1, o2, o3])),
            destination: PointCode(u32::from_be_bytes([d0, d1, d2, d3])),
            service,
            network_indicator,
            priority,
            selection,
            data: value.slice(LABEL..),
        })
    }
}
