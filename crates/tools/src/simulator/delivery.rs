//! What a simulated operator sends: receipts and mobile-originated messages, as deliver_sm.
//!
//! Built by the connection that took a message, encoded by the connection that delivers it. The text
//! of a receipt is that of SMPP 3.4 appendix B; only the parts that differ are written, into one
//! buffer that all texts share, so that a receipt costs no allocation.

use std::time::Instant;

use bytes::{BufMut, Bytes, BytesMut};

use super::message_id::Notation;
use crate::minute::Minute;
use smsc_domain::state;
use smsc_smpp::{DeliverSm, Tlvs, encode_deliver_sm, tag};

/// esm_class of a delivery receipt (§5.2.12).
const ESM_RECEIPT: u8 = 0x04;
/// Octets of the original text that a receipt repeats (appendix B).
const TEXT_IN_RECEIPT: usize = 20;
/// Room taken at once for the texts and TLVs of some 300 receipts.
const SCRATCH: usize = 64 * 1024;
/// TON and NPI of an international E.164 number.
const INTERNATIONAL: (u8, u8) = (1, 1);

/// A deliver_sm to be sent.
#[derive(Debug, Clone)]
pub(super) struct SimulatedDelivery {
    /// Not before this moment.
    pub due: Instant,
    /// How often it was refused so far.
    pub refusals: u8,
    pub kind: DeliveryKind,
}

#[derive(Debug, Clone)]
pub(super) enum DeliveryKind {
    Receipt(SimulatedReceipt),
    Mo(Mo),
}

/// A receipt. The octets are slices of the read buffer that brought the message: no copies, and a
/// delayed receipt keeps about as much memory as its submit_sm had.
#[derive(Debug, Clone)]
pub(super) struct SimulatedReceipt {
    pub id: u64,
    pub state: u8,
    /// When the message was accepted, in Unix milliseconds.
    pub submitted_ms: i64,
    pub sender: PduAddress,
    pub recipient: PduAddress,
    /// The message's own text, of which the receipt repeats the beginning.
    pub text: Bytes,
    /// Repeated as TLV when the message had one.
    pub user_message_reference: Option<u16>,
}

/// A mobile-originated message.
#[derive(Debug, Clone)]
pub(super) struct Mo {
    pub from: Bytes,
    pub to: Bytes,
    pub text: Bytes,
}

/// TON, NPI and digits as they came.
#[derive(Debug, Clone, Default)]
pub(super) struct PduAddress {
    pub ton: u8,
    pub npi: u8,
    pub digits: Bytes,
}

/// Encodes deliveries; keeps what consecutive ones share.
#[derive(Debug)]
pub(super) struct Encoder {
    notation: Notation,
    tlvs: bool,
    scratch: BytesMut,
    submitted: Minute,
    done: Minute,
}

// === impl Encoder ===

impl Encoder {
    pub(super) fn new(notation: Notation, tlvs: bool) -> Self {
        Self {
            notation,
            tlvs,
            scratch: BytesMut::new(),
            submitted: Minute::default(),
            done: Minute::default(),
        }
    }

    /// Appends the deliver_sm; `now_ms` becomes the receipt's done date.
    pub(super) fn encode(
        &mut self,
        out: &mut BytesMut,
        sequence: u32,
        delivery: &DeliveryKind,
        now_ms: i64,
    ) {
        let pdu = match delivery {
            DeliveryKind::Receipt(receipt) => self.receipt(receipt, now_ms),
            DeliveryKind::Mo(mo) => mo.pdu(),
        };
        encode_deliver_sm(out, sequence, &pdu);
    }

    fn receipt(&mut self, receipt: &SimulatedReceipt, now_ms: i64) -> DeliverSm {
        if self.scratch.capacity() < 512 {
            self.scratch.reserve(SCRATCH);
        }
        let out = &mut self.scratch;
        let delivered = receipt.state == state::DELIVERED;
        out.put_slice(b"id:");
        self.notation.write(out, receipt.id);
        out.put_slice(b" sub:001 dlvrd:");
        out.put_slice(if delivered { b"001" } else { b"000" });
        out.put_slice(b" submit date:");
        out.put_slice(self.submitted.text(receipt.submitted_ms).as_bytes());
        out.put_slice(b" done date:");
        out.put_slice(self.done.text(now_ms).as_bytes());
        out.put_slice(b" stat:");
        out.put_slice(state::receipt_stat(receipt.state).as_bytes());
        out.put_slice(if delivered { b" err:000" } else { b" err:001" });
        out.put_slice(b" text:");
        out.put_slice(&receipt.text[..receipt.text.len().min(TEXT_IN_RECEIPT)]);
        let short_message = out.split().freeze();
        if self.tlvs {
            let start = out.len();
            out.put_u16(tag::RECEIPTED_MESSAGE_ID);
            out.put_u16(0);
            self.notation.write(out, receipt.id);
            out.put_u8(0);
            let length = (out.len() - start - 4) as u16;
            out[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
            out.put_u16(tag::MESSAGE_STATE);
            out.put_u16(1);
            out.put_u8(receipt.state);
        }
        if let Some(reference) = receipt.user_message_reference {
            out.put_u16(tag::USER_MESSAGE_REFERENCE);
            out.put_u16(2);
            out.put_u16(reference);
        }
        DeliverSm {
            // A receipt travels the other way: from the recipient to the sender.
            source_addr_ton: receipt.recipient.ton,
            source_addr_npi: receipt.recipient.npi,
            source_addr: receipt.recipient.digits.clone(),
            dest_addr_ton: receipt.sender.ton,
            dest_addr_npi: receipt.sender.npi,
            destination_addr: receipt.sender.digits.clone(),
            esm_class: ESM_RECEIPT,
            short_message,
            tlvs: Tlvs::from_raw(out.split().freeze()),
            ..DeliverSm::default()
        }
    }
}

// === impl Mo ===

impl Mo {
    fn pdu(&self) -> DeliverSm {
        DeliverSm {
            source_addr_ton: INTERNATIONAL.0,
            source_addr_npi: INTERNATIONAL.1,
            source_addr: self.from.clone(),
            dest_addr_ton: INTERNATIONAL.0,
            dest_addr_npi: INTERNATIONAL.1,
            destination_addr: self.to.clone(),
            short_message: self.text.clone(),
            ..DeliverSm::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smsc_smpp::codec::{Decoded, decode};
    use smsc_smpp::{Body, Leniency};

    fn encoded(receipt: SimulatedReceipt, form: &str, tlvs: bool) -> DeliverSm {
        let mut out = BytesMut::new();
        let mut encoder = Encoder::new(form.parse().unwrap(), tlvs);
        // 2026-11-21 08:59 UTC
        let now_ms = 1_795_251_540_000;
        encoder.encode(&mut out, 5, &DeliveryKind::Receipt(receipt), now_ms);
        match decode(&out.freeze(), &Leniency::strict()) {
            Decoded::Pdu(pdu) => match pdu.body {
                Body::DeliverSm(deliver_sm) => deliver_sm,
                other => panic!("{other:?}"),
            },
            Decoded::Malformed(malformed) => panic!("{malformed:?}"),
        }
    }

    fn receipt(state: u8) -> SimulatedReceipt {
        SimulatedReceipt {
            id: 0xBEEF,
            state,
            submitted_ms: 1_795_251_480_000,
            sender: PduAddress {
                ton: 5,
                npi: 0,
                digits: Bytes::from_static(b"Bank"),
            },
            recipient: PduAddress {
                ton: 1,
                npi: 1,
                digits: Bytes::from_static(b"447700900123"),
            },
            text: Bytes::from_static(b"a text of more than twenty octets"),
            user_message_reference: Some(0x0102),
        }
    }

    #[test]
    fn a_receipt_reads_as_appendix_b_and_as_tlvs() {
        let deliver_sm = encoded(receipt(state::DELIVERED), "hex", true);
        assert_eq!(
            std::str::from_utf8(&deliver_sm.short_message).unwrap(),
            "id:beef sub:001 dlvrd:001 submit date:2611210858 done date:2611210859 stat:DELIVRD \
             err:000 text:a text of more than "
        );
        assert_eq!(deliver_sm.esm_class, ESM_RECEIPT);
        assert_eq!(&deliver_sm.source_addr[..], b"447700900123");
        assert_eq!(&deliver_sm.destination_addr[..], b"Bank");
        assert_eq!(deliver_sm.dest_addr_ton, 5);
        let tlvs = &deliver_sm.tlvs;
        assert_eq!(tlvs.get(tag::RECEIPTED_MESSAGE_ID), Some(&b"beef\0"[..]));
        assert_eq!(tlvs.get_uint(tag::MESSAGE_STATE), Some(2));
        assert_eq!(tlvs.get_uint(tag::USER_MESSAGE_REFERENCE), Some(0x0102));
    }

    #[test]
    fn a_failure_without_tlvs_says_so_in_its_text() {
        let failed = SimulatedReceipt {
            user_message_reference: None,
            text: Bytes::new(),
            ..receipt(state::UNDELIVERABLE)
        };
        let deliver_sm = encoded(failed, "decimal", false);
        let text = std::str::from_utf8(&deliver_sm.short_message).unwrap();
        assert!(text.contains("id:48879 sub:001 dlvrd:000"), "{text}");
        assert!(text.ends_with("stat:UNDELIV err:001 text:"), "{text}");
        assert!(deliver_sm.tlvs.is_empty());
    }
}
