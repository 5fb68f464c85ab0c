//! Bodies that open and watch a session (SMPP 3.4 §4.1, §4.12).
//!
//! Used by the session core and by authentication. Passwords never reach a log: `Debug` leaves them
//! out.

use std::fmt;

use bytes::Bytes;

use super::fields::body;
use crate::{CommandStatus as Status, Tlvs};

body! {
    /// bind_transmitter, bind_receiver, bind_transceiver: one layout (§4.1.1, §4.1.3, §4.1.5).
    pub struct BindRequest {
        /// Who binds; at most 15 octets (§5.2.1).
        system_id: Bytes = c_string(16, Status::ESME_RINVSYSID);
        /// Proof; 8 octets by the standard, longer ones are in use (§5.2.2).
        password: Bytes = password(Status::ESME_RINVPASWD);
        /// Kind of ESME; at most 12 octets, often empty (§5.2.3).
        system_type: Bytes = c_string(13, Status::ESME_RINVSYSTYP);
        /// SMPP version: 0x34 or 0x50; below 0x34 no TLVs may be sent (§5.2.4).
        interface_version: u8 = octet(Status::ESME_RBINDFAIL);
        /// TON of the addresses served, 0 if unknown (§5.2.5).
        addr_ton: u8 = octet(Status::ESME_RBINDFAIL);
        /// NPI of the addresses served, 0 if unknown (§5.2.6).
        addr_npi: u8 = octet(Status::ESME_RBINDFAIL);
        /// Addresses served, as a UNIX regular expression; at most 40 octets (§5.2.7).
        address_range: Bytes = c_string(41, Status::ESME_RBINDFAIL);
    }

    /// The answer to any bind (§4.1.2, §4.1.4, §4.1.6).
    #[derive(Debug)]
    pub struct BindResp {
        /// Who answers; at most 15 octets (§5.2.1).
        system_id: Bytes = c_string(16, Status::ESME_RINVSYSID);
        /// sc_interface_version, for peers of 3.4 and later (§5.3.2.25).
        tlvs: Tlvs = tlvs;
    }

    /// outbind: an SMSC asks an ESME to bind as receiver (§4.1.7). Never answered.
    pub struct OutbindRequest {
        /// Who calls; at most 15 octets (§5.2.1).
        system_id: Bytes = c_string(16, Status::ESME_RINVSYSID);
        /// Proof of who calls (§5.2.2).
        password: Bytes = password(Status::ESME_RINVPASWD);
    }

    /// alert_notification: a mobile is reachable again (§4.12.1). Never answered.
    #[derive(Debug)]
    pub struct AlertNotification {
        /// TON of the mobile (§5.2.5).
        source_addr_ton: u8 = octet(Status::ESME_RINVSRCTON);
        /// NPI of the mobile (§5.2.6).
        source_addr_npi: u8 = octet(Status::ESME_RINVSRCNPI);
        /// The mobile that became available; at most 64 octets (§5.2.8).
        source_addr: Bytes = c_string(65, Status::ESME_RINVSRCADR);
        /// TON of the ESME that asked for the alert (§5.2.5).
        esme_addr_ton: u8 = octet(Status::ESME_RINVDSTTON);
        /// NPI of the ESME that asked for the alert (§5.2.6).
        esme_addr_npi: u8 = octet(Status::ESME_RINVDSTNPI);
        /// The ESME that asked for the alert; at most 64 octets (§5.2.11).
        esme_addr: Bytes = c_string(65, Status::ESME_RINVDSTADR);
        /// ms_availability_status (§5.3.2.30).
        tlvs: Tlvs = tlvs;
    }
}

impl fmt::Debug for BindRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bind")
            .field("system_id", &self.system_id)
            .field("system_type", &self.system_type)
            .field("interface_version", &self.interface_version)
            .field("addr_ton", &self.addr_ton)
            .field("addr_npi", &self.addr_npi)
            .field("address_range", &self.address_range)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for OutbindRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbind")
            .field("system_id", &self.system_id)
            .finish_non_exhaustive()
    }
}
