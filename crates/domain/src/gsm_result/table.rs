//! Every result with its name, what is to be done about it, and what it says about the network.
//!
//! [`super`] looks here for names and classes. Ascending, for the search is binary.

use super::BreakerVerdict::{Fails, Nothing, Works};
use super::ThenWhat::{Await, End, Retry};
use super::map::{ABSENT, DIALOGUE, FAILURE, SCCP, TCAP, USER};
use super::{BreakerVerdict, GMM, GsmResultRow, OWN, RP, ThenWhat};

/// All that have a name.
#[rustfmt::skip]
pub(super) const ROWS: &[GsmResultRow] = &[
    // RP-causes: 3GPP TS 24.011 §8.2.5.4, annex E.
    one(RP, 1, "RP_UNASSIGNED_NUMBER", End, Works),
    one(RP, 8, "RP_OPERATOR_DETERMINED_BARRING", End, Works),
    one(RP, 10, "RP_CALL_BARRED", End, Works),
    one(RP, 11, "RP_RESERVED", End, Works),
    one(RP, 21, "RP_SHORT_MESSAGE_TRANSFER_REJECTED", End, Works),
    // What a handset says itself: memory, and errors in what it got.
    one(RP, 22, "RP_MEMORY_CAPACITY_EXCEEDED", Await, Works),
    one(RP, 27, "RP_DESTINATION_OUT_OF_ORDER", Await, Nothing),
    one(RP, 28, "RP_UNIDENTIFIED_SUBSCRIBER", End, Works),
    one(RP, 29, "RP_FACILITY_REJECTED", End, Works),
    one(RP, 30, "RP_UNKNOWN_SUBSCRIBER", End, Works),
    one(RP, 38, "RP_NETWORK_OUT_OF_ORDER", Retry, Fails),
    one(RP, 41, "RP_TEMPORARY_FAILURE", Retry, Fails),
    one(RP, 42, "RP_CONGESTION", Retry, Fails),
    one(RP, 47, "RP_RESOURCES_UNAVAILABLE", Retry, Fails),
    one(RP, 50, "RP_FACILITY_NOT_SUBSCRIBED", End, Works),
    one(RP, 69, "RP_FACILITY_NOT_IMPLEMENTED", End, Works),
    one(RP, 81, "RP_INVALID_REFERENCE", Retry, Works),
    one(RP, 95, "RP_SEMANTICALLY_INCORRECT", End, Works),
    one(RP, 96, "RP_INVALID_MANDATORY_INFORMATION", End, Works),
    one(RP, 97, "RP_MESSAGE_TYPE_NOT_IMPLEMENTED", End, Works),
    one(RP, 98, "RP_MESSAGE_NOT_COMPATIBLE", Retry, Works),
    one(RP, 99, "RP_ELEMENT_NOT_IMPLEMENTED", End, Works),
    one(RP, 111, "RP_PROTOCOL_ERROR", Retry, Works),
    one(RP, 127, "RP_INTERWORKING", Retry, Fails),
    // GMM causes: TS 24.008 §10.5.5.14, annex G.
    // An MSC says so of a subscriber that has detached, too; whether the HLR knows it, its look-up tells.
    one(GMM, 0x02, "GMM_IMSI_UNKNOWN", Await, Nothing),
    one(GMM, 0x03, "GMM_ILLEGAL_MS", End, Works),
    one(GMM, 0x06, "GMM_ILLEGAL_ME", End, Works),
    // OsmoMSC without `sms-over-gsup`.
    one(GMM, 0x07, "GMM_SERVICE_NOT_ALLOWED", Retry, Fails),
    one(GMM, 0x0A, "GMM_IMPLICITLY_DETACHED", Await, Nothing),
    one(GMM, 0x10, "GMM_MSC_NOT_REACHABLE", Retry, Fails),
    // OsmoMSC from 1.14 on, after paging a subscriber in vain.
    one(GMM, 0x11, "GMM_NETWORK_FAILURE", Await, Nothing),
    one(GMM, 0x16, "GMM_CONGESTION", Retry, Fails),
    one(GMM, 0x28, "GMM_NO_TRANSACTION", Retry, Nothing),
    one(GMM, 0x5F, "GMM_SEMANTICALLY_INCORRECT", End, Works),
    one(GMM, 0x60, "GMM_INVALID_MANDATORY_INFORMATION", End, Works),
    one(GMM, 0x61, "GMM_MESSAGE_TYPE_NOT_IMPLEMENTED", Retry, Fails),
    one(GMM, 0x6F, "GMM_PROTOCOL_ERROR", Retry, Fails),
    // GSUP.
    one(OWN, 1, "GSUP_ROUTING_ERROR", Retry, Fails),
    one(OWN, 2, "GSUP_NO_ANSWER", Retry, Fails),
    one(OWN, 3, "GSUP_NO_IMSI", Retry, Nothing),
    one(OWN, 4, "GSUP_UNWRITABLE", End, Nothing),
    one(OWN, 5, "GSUP_NO_CAUSE", Retry, Fails),
    // MAP user errors: TS 29.002 §17.6.6; T and P in table 1 of TS 23.040 §3.3.
    one(USER, 1, "MAP_UNKNOWN_SUBSCRIBER", End, Works),
    one(USER, 3, "MAP_UNKNOWN_MSC", Retry, Nothing),
    // The VLR does not know it: the HLR will know where it is (TS 23.040 §3.3.2, diagnostic 9).
    one(USER, 5, "MAP_UNIDENTIFIED_SUBSCRIBER", Await, Nothing),
    one(USER, 6, "MAP_ABSENT_SUBSCRIBER_SM", Await, Nothing),
    one(USER, 8, "MAP_ROAMING_NOT_ALLOWED", Await, Nothing),
    one(USER, 9, "MAP_ILLEGAL_SUBSCRIBER", End, Works),
    one(USER, 10, "MAP_BEARER_SERVICE_NOT_PROVISIONED", End, Works),
    one(USER, 11, "MAP_TELESERVICE_NOT_PROVISIONED", End, Works),
    one(USER, 12, "MAP_ILLEGAL_EQUIPMENT", End, Works),
    one(USER, 13, "MAP_CALL_BARRED", Retry, Works),
    // One MSC does not; another one may.
    one(USER, 21, "MAP_FACILITY_NOT_SUPPORTED", Retry, Nothing),
    one(USER, 27, "MAP_ABSENT_SUBSCRIBER", Await, Nothing),
    one(USER, 28, "MAP_INCOMPATIBLE_TERMINAL", End, Works),
    one(USER, 31, "MAP_SUBSCRIBER_BUSY_FOR_MT_SMS", Await, Nothing),
    one(USER, 32, "MAP_SM_DELIVERY_FAILURE", Retry, Works),
    one(USER, 33, "MAP_MESSAGE_WAITING_LIST_FULL", Await, Nothing),
    one(USER, 34, "MAP_SYSTEM_FAILURE", Retry, Fails),
    // It may be this message alone that is not understood.
    one(USER, 35, "MAP_DATA_MISSING", Retry, Works),
    one(USER, 36, "MAP_UNEXPECTED_DATA_VALUE", Retry, Works),
    one(USER, 44, "MAP_NUMBER_CHANGED", End, Works),
    one(USER, 51, "MAP_RESOURCE_LIMITATION", Retry, Fails),
    one(USER, 52, "MAP_UNAUTHORIZED_REQUESTING_NETWORK", Retry, Fails),
    // absentSubscriberSM: TS 23.040 §3.3.2.
    one(ABSENT, 0, "MAP_ABSENT_NO_PAGING_RESPONSE_MSC", Await, Nothing),
    one(ABSENT, 1, "MAP_ABSENT_IMSI_DETACHED", Await, Nothing),
    one(ABSENT, 2, "MAP_ABSENT_ROAMING_RESTRICTION", Await, Nothing),
    one(ABSENT, 3, "MAP_ABSENT_DEREGISTERED_NON_GPRS", Await, Nothing),
    one(ABSENT, 4, "MAP_ABSENT_PURGED_NON_GPRS", Await, Nothing),
    one(ABSENT, 5, "MAP_ABSENT_NO_PAGING_RESPONSE_SGSN", Await, Nothing),
    one(ABSENT, 6, "MAP_ABSENT_GPRS_DETACHED", Await, Nothing),
    one(ABSENT, 7, "MAP_ABSENT_DEREGISTERED_GPRS", Await, Nothing),
    one(ABSENT, 8, "MAP_ABSENT_PURGED_GPRS", Await, Nothing),
    one(ABSENT, 9, "MAP_ABSENT_UNIDENTIFIED_MSC", Await, Nothing),
    one(ABSENT, 10, "MAP_ABSENT_UNIDENTIFIED_SGSN", Await, Nothing),
    one(ABSENT, 11, "MAP_ABSENT_DEREGISTERED_IMS", Await, Nothing),
    one(ABSENT, 12, "MAP_ABSENT_NO_RESPONSE_IP_SM_GW", Await, Nothing),
    one(ABSENT, 13, "MAP_ABSENT_TEMPORARILY_UNAVAILABLE", Await, Nothing),
    // sm-DeliveryFailure: TS 29.002 §17.6.6.
    one(FAILURE, 0, "MAP_MEMORY_CAPACITY_EXCEEDED", Await, Works),
    one(FAILURE, 1, "MAP_EQUIPMENT_PROTOCOL_ERROR", Retry, Works),
    one(FAILURE, 2, "MAP_EQUIPMENT_NOT_SM_EQUIPPED", Retry, Works),
    // The network does not know us.
    one(FAILURE, 3, "MAP_UNKNOWN_SERVICE_CENTRE", Retry, Fails),
    one(FAILURE, 4, "MAP_SC_CONGESTION", Retry, Fails),
    one(FAILURE, 5, "MAP_INVALID_SME_ADDRESS", End, Works),
    one(FAILURE, 6, "MAP_SUBSCRIBER_NOT_SC_SUBSCRIBER", End, Works),
    // SCCP return causes: ITU-T Q.713 §3.12.
    // No translation: of this number, and a network may lack others too, or have a fault.
    one(SCCP, 0, "SCCP_NO_TRANSLATION_FOR_NATURE", Retry, Nothing),
    one(SCCP, 1, "SCCP_NO_TRANSLATION", Retry, Nothing),
    one(SCCP, 2, "SCCP_SUBSYSTEM_CONGESTION", Retry, Fails),
    one(SCCP, 3, "SCCP_SUBSYSTEM_FAILURE", Retry, Fails),
    one(SCCP, 4, "SCCP_UNEQUIPPED_USER", Retry, Fails),
    one(SCCP, 5, "SCCP_MTP_FAILURE", Retry, Fails),
    one(SCCP, 6, "SCCP_NETWORK_CONGESTION", Retry, Fails),
    one(SCCP, 7, "SCCP_UNQUALIFIED", Retry, Fails),
    one(SCCP, 8, "SCCP_ERROR_IN_TRANSPORT", Retry, Fails),
    one(SCCP, 9, "SCCP_ERROR_IN_LOCAL_PROCESSING", Retry, Fails),
    one(SCCP, 10, "SCCP_NO_REASSEMBLY", Retry, Nothing),
    one(SCCP, 11, "SCCP_FAILURE", Retry, Fails),
    one(SCCP, 12, "SCCP_HOP_COUNTER_VIOLATION", Retry, Fails),
    one(SCCP, 13, "SCCP_SEGMENTATION_NOT_SUPPORTED", Retry, Nothing),
    one(SCCP, 14, "SCCP_SEGMENTATION_FAILURE", Retry, Nothing),
    // P-Abort causes: Q.773 §4.2.1.
    one(TCAP, 0, "TCAP_UNRECOGNIZED_MESSAGE_TYPE", Retry, Fails),
    one(TCAP, 1, "TCAP_UNRECOGNIZED_TRANSACTION_ID", Retry, Fails),
    one(TCAP, 2, "TCAP_BADLY_FORMATTED_TRANSACTION_PORTION", Retry, Fails),
    one(TCAP, 3, "TCAP_INCORRECT_TRANSACTION_PORTION", Retry, Fails),
    one(TCAP, 4, "TCAP_RESOURCE_LIMITATION", Retry, Fails),
    // What a dialogue portion says in place of one: Q.771 §3.1.2.2.2.2.
    one(TCAP, 0x81, "TCAP_ABNORMAL_DIALOGUE", Retry, Fails),
    one(TCAP, 0x82, "TCAP_NO_COMMON_DIALOGUE_PORTION", Retry, Fails),
    // How a dialogue ends.
    one(DIALOGUE, 0x01, "MAP_NO_ANSWER_OF_HLR", Retry, Fails),
    one(DIALOGUE, 0x02, "MAP_NO_ANSWER", Retry, Fails),
    one(DIALOGUE, 0x03, "MAP_USER_ABORT", Retry, Fails),
    one(DIALOGUE, 0x04, "MAP_DIALOGUE_REFUSED", Retry, Fails),
    one(DIALOGUE, 0x05, "MAP_CONTEXT_NOT_SUPPORTED", Retry, Fails),
    one(DIALOGUE, 0x06, "MAP_ENDED_WITHOUT_ANSWER", Retry, Fails),
    one(DIALOGUE, 0x07, "MAP_REJECTED", Retry, Fails),
    one(DIALOGUE, 0x08, "MAP_NO_SERVING_NODE", Await, Nothing),
    one(DIALOGUE, 0x09, "MAP_UNREADABLE_ANSWER", Retry, Fails),
    one(DIALOGUE, 0x0A, "MAP_UNWRITABLE", End, Nothing),
    one(DIALOGUE, 0x0B, "MAP_NOT_SENT", Retry, Nothing),
];

const fn one(
    range: u32,
    cause: u8,
    name: &'static str,
    then: ThenWhat,
    verdict: BreakerVerdict,
) -> GsmResultRow {
    GsmResultRow {
        status: range | cause as u32,
        name,
        then,
        verdict,
    }
}
