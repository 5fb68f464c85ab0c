//! data_sm, the operation that carries a message without the fields of submit_sm (SMPP 3.4 §4.7): what
//! it brings is a message like any other, and a message goes out in it where that is wanted.
//!
//! Called by the sessions of both sides. Also what becomes of a message for a peer of SMPP 3.3, which
//! knows no optional parameters.

use bytes::Bytes;

use crate::clock;
use crate::pb::Message;
use crate::smpp::time::format_relative;
use crate::smpp::{CommandStatus, DataSm, SubmitSm, Tlvs, tag};

/// Most octets that sm_length can count.
const LONGEST: usize = 255;
/// Octets of an address in submit_sm and deliver_sm, without the NUL.
const LONGEST_ADDRESS: usize = 20;

/// Whether what comes as data_sm can go on in the other operations, and its receipt come back: its
/// addresses may have 64 octets (§4.7.1), those of submit_sm and deliver_sm 20 (§4.4.1, §4.6.1).
///
/// # Errors
/// ESME_RINVSRCADR or ESME_RINVDSTADR for an address that is longer.
pub fn check(data: &DataSm) -> Result<(), CommandStatus> {
    if data.source_addr.len() > LONGEST_ADDRESS {
        return Err(CommandStatus::ESME_RINVSRCADR);
    }
    if data.destination_addr.len() > LONGEST_ADDRESS {
        return Err(CommandStatus::ESME_RINVDSTADR);
    }
    Ok(())
}

/// What came as data_sm, as the submit_sm or deliver_sm that it could have been. The text stays in
/// message_payload; qos_time_to_live is the validity period.
pub fn into_message(data: DataSm) -> SubmitSm {
    let validity_period = data
        .tlvs
        .get_uint(tag::QOS_TIME_TO_LIVE)
        .filter(|seconds| *seconds > 0)
        .map_or_else(Bytes::new, |seconds| {
            format_relative(i64::from(seconds) * 1_000).into()
        });
    SubmitSm {
        service_type: data.service_type,
        source_addr_ton: data.source_addr_ton,
        source_addr_npi: data.source_addr_npi,
        source_addr: data.source_addr,
        dest_addr_ton: data.dest_addr_ton,
        dest_addr_npi: data.dest_addr_npi,
        destination_addr: data.destination_addr,
        esm_class: data.esm_class,
        registered_delivery: data.registered_delivery,
        data_coding: data.data_coding,
        validity_period,
        tlvs: data.tlvs.without(&[tag::QOS_TIME_TO_LIVE]),
        ..SubmitSm::default()
    }
}

/// Gives a PDU that will be encoded as data_sm what the fields said that data_sm does not have.
pub fn prepare(pdu: &mut SubmitSm, message: &Message) {
    if message.validity_period.is_empty() || pdu.tlvs.get(tag::QOS_TIME_TO_LIVE).is_some() {
        return;
    }
    let left = (message.expires_at - clock::now_ms()) / 1_000;
    let left = u32::try_from(left.max(1)).unwrap_or(u32::MAX);
    pdu.tlvs.push(tag::QOS_TIME_TO_LIVE, &left.to_be_bytes());
}

/// Takes the optional parameters away (§2.10); the text of message_payload becomes short_message.
/// False when the text is too long for that: the peer cannot be given this message.
pub fn without_tlvs(pdu: &mut SubmitSm) -> bool {
    let text = pdu.payload();
    pdu.tlvs = Tlvs::default();
    let fits = text.len() <= LONGEST;
    if fits && pdu.short_message.is_empty() {
        pdu.short_message = text;
    }
    fits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smpp::time::parse_time;

    #[test]
    fn a_time_to_live_is_a_validity_period() {
        for seconds in [1_u32, 59, 3_600, 86_399, 86_400, 30 * 86_400 + 3_723] {
            let mut data = DataSm::default();
            data.tlvs
                .push(tag::QOS_TIME_TO_LIVE, &seconds.to_be_bytes());
            let message = into_message(data);
            let parsed = parse_time(&message.validity_period, 0).unwrap();
            assert_eq!(parsed, Some(i64::from(seconds) * 1_000));
            assert!(message.tlvs.is_empty());
        }
    }

    #[test]
    fn the_payload_takes_the_place_of_the_text() {
        let with = |length: usize| {
            let mut tlvs = Tlvs::default();
            tlvs.push(tag::MESSAGE_PAYLOAD, &vec![b'a'; length]);
            SubmitSm {
                tlvs,
                ..SubmitSm::default()
            }
        };
        let mut fits = with(255);
        assert!(without_tlvs(&mut fits));
        assert_eq!(
            (fits.short_message.len(), fits.tlvs.is_empty()),
            (255, true)
        );
        assert!(!without_tlvs(&mut with(256)));
    }
}
