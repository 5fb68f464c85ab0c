//! How a [`Message`] is laid out in a `msg` row: hot fields as columns, the rest as one protobuf blob.
//!
//! Called by the writers and the readers of every adapter. What is read equals what was written, nothing is stored
//! twice, and the blob is a `smsc.v1.Message` without the columns' fields, which any protobuf tool reads; before them comes the
//! [`checksum`] of the row.

use prost::encoding::{
    WireType, bool as flag, encode_key, encode_varint, int32, string, uint32, uint64,
};

use crate::checksum::{self, SEAL};
use smsc_proto::Message;

/// TON and NPI of both addresses, one octet each, for the column `numbering`; `None` when one of
/// them does not fit and all four stay in the blob.
pub fn numbering(message: &Message) -> Option<u32> {
    let parts = [
        message.source_ton,
        message.source_npi,
        message.dest_ton,
        message.dest_npi,
    ];
    parts.iter().try_fold(0, |packed: u32, &part| {
        u8::try_from(part)
            .ok()
            .map(|part| packed << 8 | u32::from(part))
    })
}

/// Encodes what has no column into `buffer`, which is emptied first, behind the checksum of the message.
pub fn encode_body(message: &Message, buffer: &mut Vec<u8>) {
    encode_fields(message, buffer);
    close_body(message, buffer);
}

/// Encodes the body of a message that was changed since its row was written: `row` is the message as it was read of that row.
/// Besides the blob its addresses are to be written, and no other column.
pub fn encode_again(message: &Message, row: Message, buffer: &mut Vec<u8>) {
    encode_fields(message, buffer);
    let columns = Message {
        source: message.source.clone(),
        destination: message.destination.clone(),
        ..row
    };
    close_body(&columns, buffer);
}

/// Puts the checksum of a message with these columns before the fields in `buffer`.
fn close_body(columns: &Message, buffer: &mut [u8]) {
    let sum = checksum::of_message(columns, buffer.get(SEAL..).unwrap_or_default());
    checksum::seal(buffer, sum);
}

/// Encodes what has no column, behind room for the checksum.
///
/// Written field by field so that the message is not cloned to clear its columns.
#[expect(clippy::too_many_lines, reason = "a table: each field and its number")]
fn encode_fields(message: &Message, buffer: &mut Vec<u8>) {
    buffer.clear();
    checksum::leave_room(buffer);
    // No `..`: a new field must be given a place here before this compiles.
    let Message {
        id: _,
        sender: _,
        queue: _,
        kind,
        accepted_at: _,
        due_at: _,
        expires_at: _,
        service_type,
        source_ton,
        source_npi,
        source: _,
        dest_ton,
        dest_npi,
        destination: _,
        esm_class,
        protocol_id,
        priority: _,
        registered_delivery,
        replace_if_present,
        data_coding,
        sm_default_msg_id,
        short_message,
        tlvs,
        schedule_delivery_time,
        validity_period,
        trace_context,
        text_erased,
        network,
        imsi,
        towards,
        alphabet,
        composition,
        group_first,
        group_size,
        short_id,
        original,
        hex_id,
        id_length,
        divide,
        follow,
        client_data,
        ruled_by,
        price,
        replay_of,
        copied,
        report_states,
        payload_kind,
        tpdu,
        source_imsi,
        source_gsm,
    } = message;
    if *kind != 0 {
        int32::encode(4, kind, buffer);
    }
    let mut number = |tag, value: &u32| {
        if *value != 0 {
            uint32::encode(tag, value, buffer);
        }
    };
    if numbering(message).is_none() {
        number(9, source_ton);
        number(10, source_npi);
        number(12, dest_ton);
        number(13, dest_npi);
    }
    number(15, esm_class);
    number(16, protocol_id);
    number(18, registered_delivery);
    number(19, replace_if_present);
    number(20, data_coding);
    number(21, sm_default_msg_id);
    number(55, towards);
    number(62, id_length);
    number(97, source_gsm);
    let mut field = |tag, value: &[u8]| {
        if !value.is_empty() {
            encode_key(tag, WireType::LengthDelimited, buffer);
            encode_varint(value.len() as u64, buffer);
            buffer.extend_from_slice(value);
        }
    };
    field(8, service_type);
    field(22, short_message);
    field(23, tlvs);
    field(24, schedule_delivery_time);
    field(25, validity_period);
    field(26, trace_context);
    field(95, tpdu);
    if *text_erased {
        flag::encode(27, text_erased, buffer);
    }
    if *alphabet != 0 {
        int32::encode(28, alphabet, buffer);
    }
    if let Some(composition) = composition {
        prost::encoding::message::encode(29, composition.as_ref(), buffer);
    }
    if *group_size != 0 {
        uint64::encode(50, group_first, buffer);
        uint32::encode(51, group_size, buffer);
    }
    if *short_id {
        flag::encode(52, short_id, buffer);
    }
    if !network.is_empty() {
        string::encode(53, network, buffer);
    }
    if !imsi.is_empty() {
        string::encode(54, imsi, buffer);
    }
    if let Some(original) = original {
        prost::encoding::message::encode(60, original.as_ref(), buffer);
    }
    if *hex_id {
        flag::encode(61, hex_id, buffer);
    }
    if *divide {
        flag::encode(63, divide, buffer);
    }
    if *follow {
        flag::encode(64, follow, buffer);
    }
    if let Some(replay) = replay_of {
        prost::encoding::message::encode(75, replay.as_ref(), buffer);
    }
    if let Some(client) = client_data {
        prost::encoding::message::encode(80, client.as_ref(), buffer);
    }
    if let Some(ruled) = ruled_by {
        prost::encoding::message::encode(84, ruled.as_ref(), buffer);
    }
    if *price != 0 {
        uint64::encode(85, price, buffer);
    }
    if let Some(copied) = copied {
        prost::encoding::message::encode(90, copied.as_ref(), buffer);
    }
    if *report_states != 0 {
        uint32::encode(92, report_states, buffer);
    }
    if *payload_kind != 0 {
        int32::encode(94, payload_kind, buffer);
    }
    if !source_imsi.is_empty() {
        string::encode(96, source_imsi, buffer);
    }
}

/// Sets TON and NPI of both addresses from [`numbering`]; `None` keeps those of the blob.
pub fn set_numbering(message: &mut Message, packed: Option<u32>) {
    if let Some(packed) = packed {
        let [source_ton, source_npi, dest_ton, dest_npi] = packed.to_be_bytes();
        message.source_ton = source_ton.into();
        message.source_npi = source_npi.into();
        message.dest_ton = dest_ton.into();
        message.dest_npi = dest_npi.into();
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use prost::Message as _;

    use super::*;
    use smsc_proto::{
        Address, ClientData, Composition, Copied, Original, Replay, RuledBy, StateReport,
    };

    fn text(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    /// Every field set to something that is not its default.
    fn full() -> Message {
        Message {
            id: 1 << 60,
            sender: 2,
            queue: 3,
            kind: 1,
            accepted_at: 5,
            due_at: 6,
            expires_at: 7,
            service_type: b"WAP".to_vec(),
            source_ton: 1,
            source_npi: 8,
            source: text("4179"),
            dest_ton: 2,
            dest_npi: 1,
            destination: text("4178"),
            esm_class: 64,
            protocol_id: 3,
            priority: 2,
            registered_delivery: 1,
            replace_if_present: 1,
            data_coding: 8,
            sm_default_msg_id: 9,
            short_message: Bytes::from_static(&[0, 255, 7]),
            tlvs: Bytes::from_static(&[2, 4, 0, 1, 9]),
            schedule_delivery_time: b"s".to_vec(),
            validity_period: b"v".to_vec(),
            trace_context: b"t".to_vec(),
            text_erased: true,
            network: "23415".to_owned(),
            imsi: "234150123456789".to_owned(),
            towards: 55,
            alphabet: 3,
            composition: Some(Box::new(Composition {
                parent: 1 << 59,
                sent_as: vec![4, 5],
                made_of: vec![6],
                gbk: Bytes::from_static(b"\xC4\xE3"),
                short_messages: 3,
            })),
            group_first: 1 << 59,
            group_size: 3,
            short_id: true,
            original: Some(Box::new(Original {
                source: Some(Address {
                    ton: 5,
                    npi: 0,
                    digits: text("ACME"),
                }),
                destination: None,
            })),
            hex_id: true,
            id_length: 20,
            replay_of: Some(Box::new(Replay {
                id: 1 << 58,
                receipt: true,
            })),
            divide: true,
            follow: true,
            copied: Some(Box::new(Copied {
                of: 1 << 57,
                receipt: true,
                report: Some(StateReport {
                    state: 2,
                    at: 10,
                    attempt: 1,
                    operator: 3,
                    operator_message_id: text("A1"),
                    status: 8,
                    due_at: 11,
                    carrier: 1 << 56,
                    in_order: false,
                }),
            })),
            report_states: 7,
            client_data: Some(Box::new(ClientData {
                reference: "order-7".to_owned(),
                metadata: "{\"shop\":1}".to_owned(),
                callback: "https://hooks.example/1".to_owned(),
                callback_form: 1,
                dlr_mask: 3,
                dlr_level: 2,
                platform_id: "4711".to_owned(),
            })),
            ruled_by: Some(Box::new(RuledBy {
                rule: "info".to_owned(),
                queue: 7,
                waits: true,
                answers: 1 << 57,
                callback: "crm".to_owned(),
            })),
            price: 85,
            payload_kind: 3,
            tpdu: vec![1, 0, 4, 145, 0x14, 0x97],
            source_imsi: "234150123456780".to_owned(),
            source_gsm: 12,
        }
    }

    #[test]
    fn the_blob_is_the_message_without_its_columns() {
        let mut expected = full();
        (
            expected.id,
            expected.sender,
            expected.queue,
            expected.priority,
        ) = (0, 0, 0, 0);
        (expected.accepted_at, expected.due_at, expected.expires_at) = (0, 0, 0);
        (expected.source, expected.destination) = (Bytes::new(), Bytes::new());
        (expected.source_ton, expected.source_npi) = (0, 0);
        (expected.dest_ton, expected.dest_npi) = (0, 0);
        let mut buffer = vec![1, 2, 3];
        encode_body(&full(), &mut buffer);
        assert_eq!(Message::decode(&buffer[..]).unwrap(), expected);
        assert_eq!(numbering(&full()), Some(0x0108_0201));
    }

    #[test]
    fn numbering_that_does_not_fit_an_octet_stays_in_the_blob() {
        let message = Message {
            dest_ton: 256,
            ..full()
        };
        let mut buffer = Vec::new();
        encode_body(&message, &mut buffer);
        let body = Message::decode(&buffer[..]).unwrap();
        assert_eq!(numbering(&message), None);
        assert_eq!((body.source_ton, body.dest_ton), (1, 256));
    }
}
