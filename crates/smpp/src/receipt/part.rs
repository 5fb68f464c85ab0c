//! Receipts that come in several messages: their text is put together before it is read.
//!
//! A part is known as one of a long text is: by the concatenation element of its user data header (3GPP TS 23.040 §9.2.3.24),
//! or by the sar_ parameters (SMPP 3.4 §5.3.2.22 to §5.3.2.24).

use bytes::Bytes;

use super::{ESM_RECEIPT, is_complete_in_tlvs, receipt_text};
use crate::{DeliverSm, ESM_UDHI, Tlvs, tag};

/// Longest text of a part: one that is longer is no part of a receipt.
const TEXT_MAX: usize = 1024;
/// Most parts of a receipt.
const PARTS_MAX: u8 = 8;
/// What the whole does not have of its parts.
const OF_PARTS: [u16; 4] = [
    tag::MESSAGE_PAYLOAD,
    tag::SAR_MSG_REF_NUM,
    tag::SAR_TOTAL_SEGMENTS,
    tag::SAR_SEGMENT_SEQNUM,
];

/// One message of a receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialReceipt {
    pub reference: u16,
    /// From 1 to `total`.
    pub number: u8,
    /// At least 2.
    pub total: u8,
    /// The text without a header.
    pub text: Bytes,
}

/// What of a receipt a deliver_sm is; `None` if it is all of it, or says all in TLVs.
pub fn part_of(deliver_sm: &DeliverSm) -> Option<PartialReceipt> {
    let has_header = deliver_sm.esm_class & ESM_UDHI != 0;
    if !has_header && deliver_sm.tlvs.is_empty() {
        return None;
    }
    let in_header = || concatenated(&deliver_sm.payload());
    let (reference, total, number) = if has_header {
        in_header().or_else(|| sar(&deliver_sm.tlvs))?
    } else {
        sar(&deliver_sm.tlvs)?
    };
    let text = receipt_text(deliver_sm);
    let is_part =
        (2..=PARTS_MAX).contains(&total) && (1..=total).contains(&number) && text.len() <= TEXT_MAX;
    (is_part && !is_complete_in_tlvs(deliver_sm)).then_some(PartialReceipt {
        reference,
        number,
        total,
        text,
    })
}

/// The receipt of which these are the texts in their order, and the TLVs of all parts.
pub fn joined(texts: &[Bytes], tlvs: &[Bytes]) -> DeliverSm {
    let mut whole = DeliverSm {
        esm_class: ESM_RECEIPT,
        ..DeliverSm::default()
    };
    for tlvs in tlvs {
        for (tag, value) in Tlvs::from_raw(tlvs.clone()).iter() {
            let is_of_part = OF_PARTS.contains(&tag);
            if !is_of_part && whole.tlvs.get(tag).is_none() {
                whole.tlvs.push(tag, value);
            }
        }
    }
    whole.tlvs.push(tag::MESSAGE_PAYLOAD, &texts.concat());
    whole
}

/// Reference, total and number of a user data header.
fn concatenated(payload: &[u8]) -> Option<(u16, u8, u8)> {
    let (length, rest) = payload.split_first()?;
    let mut header = rest.get(..usize::from(*length))?;
    while let [element, length, rest @ ..] = header {
        let value = rest.get(..usize::from(*length))?;
        match (*element, value) {
            (0x00, [reference, total, number]) => {
                return Some((u16::from(*reference), *total, *number));
            }
            (0x08, [high, low, total, number]) => {
                return Some((u16::from_be_bytes([*high, *low]), *total, *number));
            }
            _ => header = &rest[value.len()..],
        }
    }
    None
}

/// Number, total and place of a part by sar_msg_ref_num, sar_total_segments and sar_segment_seqnum.
fn sar(tlvs: &Tlvs) -> Option<(u16, u8, u8)> {
    let number = |tag| tlvs.get_uint(tag);
    Some((
        u16::try_from(number(tag::SAR_MSG_REF_NUM)?).ok()?,
        u8::try_from(number(tag::SAR_TOTAL_SEGMENTS)?).ok()?,
        u8::try_from(number(tag::SAR_SEGMENT_SEQNUM)?).ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receipt::{UNDELIVERABLE, extract};

    const FIRST: &[u8] = b"id:7 sub:001 dlvrd:001 submit date:2611210830 done date:2611210831 st";
    const SECOND: &[u8] = b"at:UNDELIV err:034 text:Hello";

    fn headed(header: &[u8], text: &[u8]) -> DeliverSm {
        DeliverSm {
            esm_class: 0x44,
            short_message: [&[header.len() as u8], header, text].concat().into(),
            ..DeliverSm::default()
        }
    }

    #[test]
    fn parts_are_known_by_header_and_by_sar_parameters() {
        let first = part_of(&headed(&[0, 3, 9, 2, 1], FIRST)).unwrap();
        assert_eq!((first.reference, first.number, first.total), (9, 1, 2));
        let second = part_of(&headed(&[0x24, 1, 1, 8, 4, 1, 9, 2, 2], SECOND)).unwrap();
        assert_eq!((second.reference, second.number), (0x109, 2));
        let mut sar = headed(&[], b"");
        (sar.esm_class, sar.short_message) = (4, Bytes::from_static(SECOND));
        sar.tlvs.push(tag::SAR_MSG_REF_NUM, &[0, 9]);
        sar.tlvs.push(tag::SAR_TOTAL_SEGMENTS, &[2]);
        sar.tlvs.push(tag::SAR_SEGMENT_SEQNUM, &[2]);
        assert_eq!(part_of(&sar).unwrap().text, SECOND);

        let whole = joined(&[first.text, second.text], &[sar.tlvs.raw().clone()]);
        assert_eq!(part_of(&whole), None);
        let read = extract(&whole, 0).unwrap();
        assert_eq!(
            (&read.message_id[..], read.state),
            (&b"7"[..], UNDELIVERABLE)
        );

        assert_eq!(part_of(&headed(&[0, 3, 9, 1, 1], FIRST)), None, "1 of 1");
        assert_eq!(part_of(&headed(&[0, 3, 9, 2, 3], FIRST)), None, "3 of 2");
        assert_eq!(part_of(&headed(&[0, 9], FIRST)), None, "cut off");
        sar.tlvs.push(tag::RECEIPTED_MESSAGE_ID, b"7\0");
        assert!(part_of(&sar).is_some());
        sar.tlvs.push(tag::MESSAGE_STATE, &[2]);
        assert_eq!(part_of(&sar), None, "it says all");
    }
}
