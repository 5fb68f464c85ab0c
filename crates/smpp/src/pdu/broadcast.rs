//! Bodies of cell broadcast (SMPP 5.0 §4.4, §4.6).
//!
//! Decoded so that they get a well-formed answer; cell broadcast is refused.

use bytes::Bytes;

use super::fields::body;
use crate::{CommandStatus as Status, Tlvs};

body! {
    /// broadcast_sm (5.0 §4.4.1.1): area, content type and repetition are TLVs.
    #[derive(Debug)]
    pub struct BroadcastSm {
        /// Application service (5.0 §4.7.25).
        service_type: Bytes = c_string(6, Status::ESME_RINVSERTYP);
        /// TON of the sender (5.0 §4.7.1).
        source_addr_ton: u8 = octet(Status::ESME_RINVSRCTON);
        /// NPI of the sender (5.0 §4.7.2).
        source_addr_npi: u8 = octet(Status::ESME_RINVSRCNPI);
        /// The sender (5.0 §4.7.29).
        source_addr: Bytes = c_string(21, Status::ESME_RINVSRCADR);
        /// The message to replace, otherwise empty (5.0 §4.7.14).
        message_id: Bytes = c_string(65, Status::ESME_RINVMSGID);
        /// Priority (5.0 §4.7.19).
        priority_flag: u8 = octet(Status::ESME_RINVPRTFLG);
        /// First broadcast (5.0 §4.7.23.1).
        schedule_delivery_time: Bytes = time(Status::ESME_RINVSCHED);
        /// Last broadcast (5.0 §4.7.23.2).
        validity_period: Bytes = time(Status::ESME_RINVEXPIRY);
        /// 1 to replace (5.0 §4.7.22).
        replace_if_present_flag: u8 = octet(Status::ESME_RINVREPFLAG);
        /// Coding of the text (5.0 §4.7.7).
        data_coding: u8 = octet(Status::ESME_RINVDCS);
        /// A message predefined at the message centre (5.0 §4.7.27).
        sm_default_msg_id: u8 = octet(Status::ESME_RINVDFTMSGID);
        /// broadcast_area_identifier and the other parameters (5.0 §4.4.1.1).
        tlvs: Tlvs = tlvs;
    }

    /// broadcast_sm_resp (5.0 §4.4.1.2).
    #[derive(Debug)]
    pub struct BroadcastSmResp {
        /// The message centre's id (5.0 §4.7.14).
        message_id: Bytes = c_string(65, Status::ESME_RINVMSGID);
        /// Areas that failed and why (5.0 §4.4.1.2).
        tlvs: Tlvs = tlvs;
    }

    /// query_broadcast_sm (5.0 §4.6.1.1).
    #[derive(Debug)]
    pub struct QueryBroadcastSm {
        /// The id broadcast_sm_resp gave (5.0 §4.7.14).
        message_id: Bytes = c_string(65, Status::ESME_RINVMSGID);
        /// TON of the sender (5.0 §4.7.1).
        source_addr_ton: u8 = octet(Status::ESME_RINVSRCTON);
        /// NPI of the sender (5.0 §4.7.2).
        source_addr_npi: u8 = octet(Status::ESME_RINVSRCNPI);
        /// The sender, as submitted (5.0 §4.7.29).
        source_addr: Bytes = c_string(21, Status::ESME_RINVSRCADR);
        /// user_message_reference (5.0 §4.8.4.62).
        tlvs: Tlvs = tlvs;
    }

    /// query_broadcast_sm_resp (5.0 §4.6.1.3).
    #[derive(Debug)]
    pub struct QueryBroadcastSmResp {
        /// The id asked for (5.0 §4.7.14).
        message_id: Bytes = c_string(65, Status::ESME_RINVMSGID);
        /// message_state, areas and their success (5.0 §4.6.1.3).
        tlvs: Tlvs = tlvs;
    }

    /// cancel_broadcast_sm (5.0 §4.6.2.1).
    #[derive(Debug)]
    pub struct CancelBroadcastSm {
        /// Service of the messages meant, when no id is given (5.0 §4.7.25).
        service_type: Bytes = c_string(6, Status::ESME_RINVSERTYP);
        /// The id, or empty for all that match (5.0 §4.7.14).
        message_id: Bytes = c_string(65, Status::ESME_RINVMSGID);
        /// TON of the sender (5.0 §4.7.1).
        source_addr_ton: u8 = octet(Status::ESME_RINVSRCTON);
        /// NPI of the sender (5.0 §4.7.2).
        source_addr_npi: u8 = octet(Status::ESME_RINVSRCNPI);
        /// The sender, as submitted (5.0 §4.7.29).
        source_addr: Bytes = c_string(21, Status::ESME_RINVSRCADR);
        /// broadcast_content_type, user_message_reference (5.0 §4.6.2.1).
        tlvs: Tlvs = tlvs;
    }
}
