//! Bodies that carry a message and their answers (SMPP 3.4 §4.4 - §4.7).
//!
//! Used on the data path in both directions: what an ESME submits to us and what we submit to an
//! operator is the same struct.

use bytes::Bytes;

use super::fields::body;
use crate::{CommandStatus as Status, Tlvs, tag};

body! {
    /// submit_sm (§4.4.1).
    ///
    /// A `short_message` of more than 255 octets is encoded as message_payload, since `sm_length`
    /// cannot count it.
    #[derive(Debug)]
    pub struct SubmitSm {
        /// Application service, at most 5 octets, empty for the default (§5.2.11).
        service_type: Bytes = c_string(6, Status::ESME_RINVSERTYP);
        /// TON of the sender (§5.2.5).
        source_addr_ton: u8 = octet(Status::ESME_RINVSRCTON);
        /// NPI of the sender (§5.2.6).
        source_addr_npi: u8 = octet(Status::ESME_RINVSRCNPI);
        /// The sender; at most 20 octets, empty if the SMSC is to fill it in (§5.2.8).
        source_addr: Bytes = c_string(21, Status::ESME_RINVSRCADR);
        /// TON of the recipient (§5.2.5).
        dest_addr_ton: u8 = octet(Status::ESME_RINVDSTTON);
        /// NPI of the recipient (§5.2.6).
        dest_addr_npi: u8 = octet(Status::ESME_RINVDSTNPI);
        /// The recipient; at most 20 octets (§5.2.9).
        destination_addr: Bytes = c_string(21, Status::ESME_RINVDSTADR);
        /// Mode, type (receipts), UDHI and reply path (§5.2.12).
        esm_class: u8 = octet(Status::ESME_RINVESMCLASS);
        /// TP-PID for GSM (§5.2.13).
        protocol_id: u8 = octet(Status::ESME_RINVCMDLEN);
        /// 0 lowest to 3 highest (§5.2.14).
        priority_flag: u8 = octet(Status::ESME_RINVPRTFLG);
        /// When to deliver, empty for now (§5.2.15, §7.1.1).
        schedule_delivery_time: Bytes = time(Status::ESME_RINVSCHED);
        /// When to give up, empty for the SMSC's default (§5.2.16, §7.1.1).
        validity_period: Bytes = time(Status::ESME_RINVEXPIRY);
        /// Which receipts and acknowledgements are asked for (§5.2.17).
        registered_delivery: u8 = octet(Status::ESME_RINVREGDLVFLG);
        /// 1 to replace a waiting message of the same sender and recipient (§5.2.18).
        replace_if_present_flag: u8 = octet(Status::ESME_RINVREPFLAG);
        /// Coding of the text, as the GSM data coding scheme (§5.2.19).
        data_coding: u8 = octet(Status::ESME_RINVCMDLEN);
        /// A message predefined at the SMSC, 0 for none (§5.2.20).
        sm_default_msg_id: u8 = octet(Status::ESME_RINVDFTMSGID);
        /// The text, `sm_length` octets (§5.2.21, §5.2.22).
        short_message: Bytes = short_message;
        /// Optional parameters (§4.4.1, table 4-11).
        tlvs: Tlvs = tlvs;
    }
    overflow short_message

    /// submit_sm_resp (§4.4.2).
    #[derive(Debug)]
    pub struct SubmitSmResp {
        /// The SMSC's id of the message; at most 64 octets (§5.2.23).
        message_id: Bytes = c_string(65, Status::ESME_RINVMSGID);
        /// 5.0 allows optional parameters here (5.0 §4.2.1.2).
        tlvs: Tlvs = tlvs;
    }

    /// data_sm (§4.7.1): the text is in message_payload.
    #[derive(Debug)]
    pub struct DataSm {
        /// Application service, at most 5 octets (§5.2.11).
        service_type: Bytes = c_string(6, Status::ESME_RINVSERTYP);
        /// TON of the sender (§5.2.5).
        source_addr_ton: u8 = octet(Status::ESME_RINVSRCTON);
        /// NPI of the sender (§5.2.6).
        source_addr_npi: u8 = octet(Status::ESME_RINVSRCNPI);
        /// The sender; at most 64 octets (§5.2.8).
        source_addr: Bytes = c_string(65, Status::ESME_RINVSRCADR);
        /// TON of the recipient (§5.2.5).
        dest_addr_ton: u8 = octet(Status::ESME_RINVDSTTON);
        /// NPI of the recipient (§5.2.6).
        dest_addr_npi: u8 = octet(Status::ESME_RINVDSTNPI);
        /// The recipient; at most 64 octets (§5.2.9).
        destination_addr: Bytes = c_string(65, Status::ESME_RINVDSTADR);
        /// Mode, type, UDHI and reply path (§5.2.12).
        esm_class: u8 = octet(Status::ESME_RINVESMCLASS);
        /// Which receipts are asked for (§5.2.17).
        registered_delivery: u8 = octet(Status::ESME_RINVREGDLVFLG);
        /// Coding of the text (§5.2.19).
        data_coding: u8 = octet(Status::ESME_RINVCMDLEN);
        /// Optional parameters, the text among them (§4.7.1, table 4-19).
        tlvs: Tlvs = tlvs;
    }

    /// submit_multi (§4.5.1): one text to many.
    #[derive(Debug)]
    pub struct SubmitMulti {
        /// Application service, at most 5 octets (§5.2.11).
        service_type: Bytes = c_string(6, Status::ESME_RINVSERTYP);
        /// TON of the sender (§5.2.5).
        source_addr_ton: u8 = octet(Status::ESME_RINVSRCTON);
        /// NPI of the sender (§5.2.6).
        source_addr_npi: u8 = octet(Status::ESME_RINVSRCNPI);
        /// The sender; at most 20 octets (§5.2.8).
        source_addr: Bytes = c_string(21, Status::ESME_RINVSRCADR);
        /// 1 to 255 recipients, counted by `number_of_dests` (§4.5.1.1, §5.2.24).
        dest_address: Vec<DestAddress> = destinations;
        /// Mode, type, UDHI and reply path (§5.2.12).
        esm_class: u8 = octet(Status::ESME_RINVESMCLASS);
        /// TP-PID for GSM (§5.2.13).
        protocol_id: u8 = octet(Status::ESME_RINVCMDLEN);
        /// 0 lowest to 3 highest (§5.2.14).
        priority_flag: u8 = octet(Status::ESME_RINVPRTFLG);
        /// When to deliver, empty for now (§5.2.15).
        schedule_delivery_time: Bytes = time(Status::ESME_RINVSCHED);
        /// When to give up (§5.2.16).
        validity_period: Bytes = time(Status::ESME_RINVEXPIRY);
        /// Which receipts are asked for (§5.2.17).
        registered_delivery: u8 = octet(Status::ESME_RINVREGDLVFLG);
        /// Not used in 3.4 (§5.2.18).
        replace_if_present_flag: u8 = octet(Status::ESME_RINVREPFLAG);
        /// Coding of the text (§5.2.19).
        data_coding: u8 = octet(Status::ESME_RINVCMDLEN);
        /// A message predefined at the SMSC (§5.2.20).
        sm_default_msg_id: u8 = octet(Status::ESME_RINVDFTMSGID);
        /// The text (§5.2.22).
        short_message: Bytes = short_message;
        /// Optional parameters (§4.5.1, table 4-13).
        tlvs: Tlvs = tlvs;
    }
    overflow short_message

    /// submit_multi_resp (§4.5.2).
    #[derive(Debug)]
    pub struct SubmitMultiResp {
        /// The SMSC's id of the message; at most 64 octets (§5.2.23).
        message_id: Bytes = c_string(65, Status::ESME_RINVMSGID);
        /// Recipients that were refused, counted by `no_unsuccess` (§5.2.26).
        unsuccess_sme: Vec<UnsuccessSme> = failures;
        /// 5.0 allows optional parameters here (5.0 §4.2.3.2).
        tlvs: Tlvs = tlvs;
    }
}

/// deliver_sm has the layout of submit_sm (§4.6.1); the fields it does not use are 0 or empty.
pub type DeliverSm = SubmitSm;

/// deliver_sm_resp: as submit_sm_resp, the id unused and empty (§4.6.2).
pub type DeliverSmResp = SubmitSmResp;

/// data_sm_resp: as submit_sm_resp, with optional parameters in 3.4 already (§4.7.2).
pub type DataSmResp = SubmitSmResp;

/// One `dest_address` of submit_multi (§4.5.1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DestAddress {
    /// `dest_flag` 1: an address (§4.5.1.2).
    Sme {
        /// TON of the recipient (§5.2.5).
        dest_addr_ton: u8,
        /// NPI of the recipient (§5.2.6).
        dest_addr_npi: u8,
        /// The recipient; at most 20 octets (§5.2.9).
        destination_addr: Bytes,
    },
    /// `dest_flag` 2: a list kept at the SMSC (§4.5.1.3).
    DistributionList {
        /// The list's name; at most 20 octets (§5.2.27).
        dl_name: Bytes,
    },
}

/// One recipient that submit_multi did not reach (§4.5.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsuccessSme {
    /// TON of the recipient (§5.2.5).
    pub dest_addr_ton: u8,
    /// NPI of the recipient (§5.2.6).
    pub dest_addr_npi: u8,
    /// The recipient; at most 20 octets (§5.2.9).
    pub destination_addr: Bytes,
    /// Why (§5.1.3).
    pub error_status_code: Status,
}

// === impl SubmitSm ===

impl SubmitSm {
    /// The message wherever the peer put it: `short_message`, or message_payload when that is empty
    /// (§5.3.2.32). Shares the frame's buffer.
    pub fn payload(&self) -> Bytes {
        payload(&self.short_message, &self.tlvs)
    }
}

impl SubmitMulti {
    /// See [`SubmitSm::payload`].
    pub fn payload(&self) -> Bytes {
        payload(&self.short_message, &self.tlvs)
    }
}

impl DataSm {
    /// The message_payload, empty when there is none (§5.3.2.32).
    pub fn payload(&self) -> Bytes {
        payload(&Bytes::new(), &self.tlvs)
    }
}

#[inline]
fn payload(short_message: &Bytes, tlvs: &Tlvs) -> Bytes {
    if short_message.is_empty() {
        tlvs.get_bytes(tag::MESSAGE_PAYLOAD).unwrap_or_default()
    } else {
        short_message.clone()
    }
}
