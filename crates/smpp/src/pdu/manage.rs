//! Bodies that query, cancel and replace a waiting message (SMPP 3.4 §4.8 - §4.10).
//!
//! Used by the session of an ESME. cancel_sm_resp and replace_sm_resp have no body.

use bytes::Bytes;

use super::fields::body;
use crate::{CommandStatus as Status, Tlvs};

body! {
    /// query_sm (§4.8.1).
    #[derive(Debug)]
    pub struct QuerySm {
        /// The id submit_sm_resp gave; at most 64 octets (§5.2.23).
        message_id: Bytes = c_string(65, Status::ESME_RINVMSGID);
        /// TON of the message's sender (§5.2.5).
        source_addr_ton: u8 = octet(Status::ESME_RINVSRCTON);
        /// NPI of the message's sender (§5.2.6).
        source_addr_npi: u8 = octet(Status::ESME_RINVSRCNPI);
        /// The message's sender, as submitted (§5.2.8).
        source_addr: Bytes = c_string(21, Status::ESME_RINVSRCADR);
    }

    /// query_sm_resp (§4.8.2).
    #[derive(Debug)]
    pub struct QuerySmResp {
        /// The id asked for (§5.2.23).
        message_id: Bytes = c_string(65, Status::ESME_RINVMSGID);
        /// When it reached its final state, empty while it has not (§7.1.1).
        final_date: Bytes = time(Status::ESME_RQUERYFAIL);
        /// State (§5.2.28).
        message_state: u8 = octet(Status::ESME_RQUERYFAIL);
        /// The network's error, 0 for none (§4.8.2).
        error_code: u8 = octet(Status::ESME_RQUERYFAIL);
    }

    /// cancel_sm (§4.9.1): by id, or every waiting message from one address to another.
    #[derive(Debug)]
    pub struct CancelSm {
        /// Service of the messages meant, when no id is given (§5.2.11).
        service_type: Bytes = c_string(6, Status::ESME_RINVSERTYP);
        /// The id, or empty for all that match (§5.2.23).
        message_id: Bytes = c_string(65, Status::ESME_RINVMSGID);
        /// TON of the sender (§5.2.5).
        source_addr_ton: u8 = octet(Status::ESME_RINVSRCTON);
        /// NPI of the sender (§5.2.6).
        source_addr_npi: u8 = octet(Status::ESME_RINVSRCNPI);
        /// The sender, as submitted (§5.2.8).
        source_addr: Bytes = c_string(21, Status::ESME_RINVSRCADR);
        /// TON of the recipient (§5.2.5).
        dest_addr_ton: u8 = octet(Status::ESME_RINVDSTTON);
        /// NPI of the recipient (§5.2.6).
        dest_addr_npi: u8 = octet(Status::ESME_RINVDSTNPI);
        /// The recipient, when no id is given (§5.2.9).
        destination_addr: Bytes = c_string(21, Status::ESME_RINVDSTADR);
    }

    /// replace_sm (§4.10.1).
    #[derive(Debug)]
    pub struct ReplaceSm {
        /// The id of the message to change; at most 64 octets (§5.2.23).
        message_id: Bytes = c_string(65, Status::ESME_RINVMSGID);
        /// TON of the sender (§5.2.5).
        source_addr_ton: u8 = octet(Status::ESME_RINVSRCTON);
        /// NPI of the sender (§5.2.6).
        source_addr_npi: u8 = octet(Status::ESME_RINVSRCNPI);
        /// The sender, as submitted (§5.2.8).
        source_addr: Bytes = c_string(21, Status::ESME_RINVSRCADR);
        /// New delivery time, empty to keep the old (§5.2.15).
        schedule_delivery_time: Bytes = time(Status::ESME_RINVSCHED);
        /// New expiry, empty to keep the old (§5.2.16).
        validity_period: Bytes = time(Status::ESME_RINVEXPIRY);
        /// New receipt request (§5.2.17).
        registered_delivery: u8 = octet(Status::ESME_RINVREGDLVFLG);
        /// A message predefined at the SMSC (§5.2.20).
        sm_default_msg_id: u8 = octet(Status::ESME_RINVDFTMSGID);
        /// The new text (§5.2.22).
        short_message: Bytes = short_message;
        /// message_payload, from 5.0 on (5.0 §4.5.3.1).
        tlvs: Tlvs = tlvs;
    }
    overflow short_message
}
