//! Data → as many messages as it needs (ITU-T Q.714 §4.1.1.2.2).
//!
//! A message must fit what MTP carries, 272 octets with the label of four (Q.703 §2.2), since behind the
//! gateway there may be a link without IP. All segments but the last are of one size, so that whoever
//! reassembles them knows from the first how much there will be.

use bytes::Bytes;

use crate::address::SccpAddress;
use crate::sccp::{HOPS, SccpForm, SccpMessage, SccpPurpose, SccpWriteError, Segmentation};

/// Octets of the longest message.
pub const MESSAGE_MAX: usize = 268;
/// Most segments: the number of those that remain has four bits.
pub const SEGMENTS_MAX: usize = 16;

/// Octets of a UDT besides parties and data: type, class, three pointers, three lengths.
const SHORT_FRAME: usize = 8;
/// Octets of a segment: type, class, hops, four pointers, three lengths, segmentation, end.
const SEGMENT_FRAME: usize = 17;
/// Most octets of data in a segment.
const SEGMENT_MAX: usize = 254;

/// What is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitdataRequest {
    /// Whither.
    pub called: SccpAddress,
    /// From which of our addresses.
    pub calling: SccpAddress,
    /// What.
    pub data: Bytes,
    /// Requests with the same number take the same way.
    pub sequence: u32,
    /// Whether they stay in order.
    pub in_order: bool,
    /// Whether it comes back when it cannot be delivered.
    pub return_on_error: bool,
}

/// The messages of a request: one, or its segments in their order. `reference` marks the segments.
///
/// # Errors
/// An address that cannot be written, or data for more than 16 segments.
pub fn messages(
    request: &UnitdataRequest,
    most: usize,
    reference: u32,
) -> Result<Vec<SccpMessage>, SccpWriteError> {
    let most = most.clamp(1, SEGMENT_MAX);
    let parties = request.called.encode()?.len() + request.calling.encode()?.len();
    let room = |frame: usize| MESSAGE_MAX.saturating_sub(frame + parties).clamp(1, most);
    let octets = request.data.len();
    let whole = SccpMessage {
        form: SccpForm::Short,
        purpose: SccpPurpose::Data {
            in_order: request.in_order,
            return_on_error: request.return_on_error,
        },
        hops: HOPS,
        called: request.called.clone(),
        calling: request.calling.clone(),
        data: request.data.clone(),
        segmentation: None,
        importance: None,
    };
    if octets <= room(SHORT_FRAME) {
        return Ok(vec![whole]);
    }
    // In a message of this length, pointers of one octet reach everything.
    let size = room(SEGMENT_FRAME);
    let count = octets.div_ceil(size);
    if count > SEGMENTS_MAX {
        return Err(SccpWriteError::Long(octets));
    }
    let segment = |number: usize| {
        let start = number * size;
        let is_first = number == 0;
        SccpMessage {
            form: SccpForm::Extended,
            purpose: SccpPurpose::Data {
                in_order: true,
                // What comes back of the first is enough to know whose it was.
                return_on_error: request.return_on_error && is_first,
            },
            data: request.data.slice(start..octets.min(start + size)),
            segmentation: Some(Segmentation {
                is_first,
                in_order: request.in_order,
                // Less than 16.
                remaining: (count - 1 - number) as u8,
                reference: reference & 0x00FF_FFFF,
            }),
            ..whole.clone()
        }
    };
    Ok((0..count).map(segment).collect())
}

#[cfg(test)]
mod tests;
