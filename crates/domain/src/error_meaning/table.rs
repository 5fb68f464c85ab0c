//! The words for each error: name, meaning, what usually helps. [`super`] looks here.
//!
//! Meanings are those of SMPP 3.4 §5.1.3 and 5.0 §4.7.6, of the standards that `gsm_result` names, and of the tables of
//! status words in CMPP 3.0 §8.4.5.1 and SMGP 3.0.

use super::ErrorWords;

const SENDER: &str = "Correct what the account sends, or have it corrected by a rewrite rule.";
const SUPPORT: &str =
    "Ask the operator with its message id or the time, and send later or by another operator.";
const FEATURE: &str = "Leave the field out, or ask the operator whether it supports it.";
const LOGIN: &str =
    "Compare system_id, password and allowed addresses with those that the operator has given you.";
const SLOWER: &str =
    "Lower the rate of the operator in its configuration, or agree on a higher one with it.";
const NUMBER: &str =
    "Check the number, its country code and the rewrite rules; do not send it again.";
const SERVICE: &str = "Have the operator enable the service for your connection, or leave service_type as it gave it to you.";
const COMMAND: &str =
    "Nothing is to be done for messages; it concerns an operation that is not sending.";
const ABSENT: &str =
    "Nothing, if it may wait: it is sent again when the phone is back, as long as it is valid.";
const SUBSCRIBER: &str = "Take the number off the list, or have its owner ask their network.";
const NETWORK: &str = "Send it again later; if many messages have it, ask the network.";
const SIGNALLING: &str =
    "Look at the signalling gateways and the route to this network (GET /v1/gsm), then replay.";
const ENCODING: &str = "Look at the message with smsc decode, and report it with the octets.";
const HANDSET: &str =
    "Send it once more; if it comes back, send a plainer text, without special classes or ports.";

/// Results of attempts: command_status of SMPP, then those of GSM networks.
#[rustfmt::skip]
pub(super) const STATUSES: &[ErrorWords] = &[
    ("ESME_ROK", "The operator has taken the message.", "Nothing is to be done."),
    ("ESME_RINVMSGLEN", "The text is longer than the operator takes.", "Have long texts divided (long_messages of the operator), or send a shorter one."),
    ("ESME_RINVCMDLEN", "The operator cannot read the PDU: its length is wrong.", ENCODING),
    ("ESME_RINVCMDID", "The operator does not know this operation.", "Use the version of SMPP that the operator speaks (interface_version of the operator)."),
    ("ESME_RINVBNDSTS", "The session is not bound, or not for this operation.", "Check how we bind (bind of the operator); a rebind usually helps."),
    ("ESME_RALYBND", "The operator has a bind of this name already.", "Lower the number of binds, or wait until the operator has noticed that the old one is gone."),
    ("ESME_RINVPRTFLG", "The operator does not take this priority.", FEATURE),
    ("ESME_RINVREGDLVFLG", "The operator does not take this request for receipts.", FEATURE),
    ("ESME_RSYSERR", "The operator has a fault of its own.", SUPPORT),
    ("ESME_RINVSRCADR", "The operator does not accept this sender.", "Use a sender that the operator has registered for you, or rewrite it for this operator."),
    ("ESME_RINVDSTADR", "The operator does not accept this number, or has no way to it.", NUMBER),
    ("ESME_RINVMSGID", "The operator does not know the message id.", COMMAND),
    ("ESME_RBINDFAIL", "The operator has refused the bind.", LOGIN),
    ("ESME_RINVPASWD", "The password is wrong.", LOGIN),
    ("ESME_RINVSYSID", "The system_id is unknown.", LOGIN),
    ("ESME_RCANCELFAIL", "The operator could not cancel the message.", COMMAND),
    ("ESME_RREPLACEFAIL", "The operator could not replace the message.", COMMAND),
    ("ESME_RMSGQFUL", "The queue of the operator is full.", SLOWER),
    ("ESME_RINVSERTYP", "The operator does not know this service_type.", SERVICE),
    ("ESME_RINVNUMDESTS", "The number of destinations is wrong.", SENDER),
    ("ESME_RINVDLNAME", "The operator does not know this distribution list.", SENDER),
    ("ESME_RINVDESTFLAG", "The kind of the destination is wrong.", SENDER),
    ("ESME_RINVSUBREP", "The operator does not replace messages that way.", FEATURE),
    ("ESME_RINVESMCLASS", "The operator does not take this esm_class.", FEATURE),
    ("ESME_RCNTSUBDL", "The operator does not send to distribution lists.", SENDER),
    ("ESME_RSUBMITFAIL", "The operator could not take the message, and does not say why.", SUPPORT),
    ("ESME_RINVSRCTON", "The type of number of the sender is wrong.", "Set the TON of senders in rewrite_out of the operator (set_ton): 5 for names, 1 for international numbers."),
    ("ESME_RINVSRCNPI", "The numbering plan of the sender is wrong.", "Set the NPI of senders in rewrite_out of the operator (set_npi): 0 for names, 1 for numbers."),
    ("ESME_RINVDSTTON", "The type of number of the destination is wrong.", "Set the TON of destinations in rewrite_out of the operator (set_ton): 1 for international numbers."),
    ("ESME_RINVDSTNPI", "The numbering plan of the destination is wrong.", "Set the NPI of destinations in rewrite_out of the operator (set_npi): 1 for numbers."),
    ("ESME_RINVSYSTYP", "The operator does not know this system_type.", LOGIN),
    ("ESME_RINVREPFLAG", "The operator does not take replace_if_present_flag.", FEATURE),
    ("ESME_RINVNUMMSGS", "The number of messages is wrong.", COMMAND),
    ("ESME_RTHROTTLED", "More messages were sent than the operator allows.", SLOWER),
    ("ESME_RINVSCHED", "The time of delivery is wrong, or the operator schedules nothing.", FEATURE),
    ("ESME_RINVEXPIRY", "The operator does not take this validity.", "Lower validity.max, or have the account send a shorter validity."),
    ("ESME_RINVDFTMSGID", "The operator does not know this predefined message.", SENDER),
    ("ESME_RX_T_APPN", "The receiving application cannot take it for now.", NETWORK),
    ("ESME_RX_P_APPN", "The receiving application never takes it.", SUPPORT),
    ("ESME_RX_R_APPN", "The receiving application refuses this message.", "Check its content and sender: filters against spam answer so."),
    ("ESME_RQUERYFAIL", "The query has failed.", COMMAND),
    ("ESME_RINVOPTPARSTREAM", "The optional parameters cannot be read.", ENCODING),
    ("ESME_ROPTPARNOTALLWD", "The operator does not allow an optional parameter.", FEATURE),
    ("ESME_RINVPARLEN", "An optional parameter has the wrong length.", SENDER),
    ("ESME_RMISSINGOPTPARAM", "The operator wants an optional parameter that is missing.", "Have the account send it, or ask the operator which it is."),
    ("ESME_RINVOPTPARAMVAL", "An optional parameter has a wrong value.", SENDER),
    ("ESME_RDELIVERYFAILURE", "The message could not be delivered.", SUPPORT),
    ("ESME_RUNKNOWNERR", "The operator does not say what is wrong.", SUPPORT),
    ("ESME_RSERTYPUNAUTH", "You may not use this service_type.", SERVICE),
    ("ESME_RPROHIBITED", "The operator prohibits this to your connection.", "Look at your contract and credit with the operator: what is not paid or not allowed is answered so."),
    ("ESME_RSERTYPUNAVAIL", "The service_type is not available for now.", NETWORK),
    ("ESME_RSERTYPDENIED", "The service_type is denied.", SERVICE),
    ("ESME_RINVDCS", "The operator does not take this data_coding.", "Choose the alphabet that the operator means by data_coding 0 (alphabet of the operator), or have the account send another one."),
    ("ESME_RINVSRCADDRSUBUNIT", "The source subunit is wrong.", FEATURE),
    ("ESME_RINVDSTADDRSUBUNIT", "The destination subunit is wrong.", FEATURE),
    ("ESME_RINVBCASTFREQINT", "The interval of the broadcast is wrong.", SENDER),
    ("ESME_RINVBCASTALIAS_NAME", "The alias of the broadcast area is wrong.", SENDER),
    ("ESME_RINVBCASTAREAFMT", "The form of the broadcast area is wrong.", SENDER),
    ("ESME_RINVNUMBCAST_AREAS", "The number of broadcast areas is wrong.", SENDER),
    ("ESME_RINVBCASTCNTTYPE", "The content type of the broadcast is wrong.", SENDER),
    ("ESME_RINVBCASTMSGCLASS", "The class of the broadcast is wrong.", SENDER),
    ("ESME_RBCASTFAIL", "The broadcast has failed.", SUPPORT),
    ("ESME_RBCASTQUERYFAIL", "The query of the broadcast has failed.", COMMAND),
    ("ESME_RBCASTCANCELFAIL", "The broadcast could not be cancelled.", COMMAND),
    ("ESME_RINVBCAST_REP", "The number of repetitions of the broadcast is wrong.", SENDER),
    ("ESME_RINVBCASTSRVGRP", "The service group of the broadcast is wrong.", SENDER),
    ("ESME_RINVBCASTCHANIND", "The channel of the broadcast is wrong.", SENDER),
    // RP-causes: 3GPP TS 24.011 §8.2.5.4.
    ("RP_UNASSIGNED_NUMBER", "The number is not assigned.", NUMBER),
    ("RP_OPERATOR_DETERMINED_BARRING", "The network bars short messages for this subscriber.", SUBSCRIBER),
    ("RP_CALL_BARRED", "The subscriber is barred.", SUBSCRIBER),
    ("RP_RESERVED", "The network gives a reserved cause.", NETWORK),
    ("RP_SHORT_MESSAGE_TRANSFER_REJECTED", "The network or the phone rejects the message.", HANDSET),
    ("RP_MEMORY_CAPACITY_EXCEEDED", "The memory of the phone is full.", ABSENT),
    ("RP_DESTINATION_OUT_OF_ORDER", "The phone does not answer.", ABSENT),
    ("RP_UNIDENTIFIED_SUBSCRIBER", "The network cannot identify the subscriber.", SUBSCRIBER),
    ("RP_FACILITY_REJECTED", "The network rejects what was asked for.", NETWORK),
    ("RP_UNKNOWN_SUBSCRIBER", "The HLR does not know the subscriber.", NUMBER),
    ("RP_NETWORK_OUT_OF_ORDER", "The network is out of order.", NETWORK),
    ("RP_TEMPORARY_FAILURE", "The network has a temporary failure.", NETWORK),
    ("RP_CONGESTION", "The network is congested.", NETWORK),
    ("RP_RESOURCES_UNAVAILABLE", "The network has no resources left.", NETWORK),
    ("RP_FACILITY_NOT_SUBSCRIBED", "The subscriber has no short messages.", SUBSCRIBER),
    ("RP_FACILITY_NOT_IMPLEMENTED", "The network does not implement what was asked for.", HANDSET),
    ("RP_INVALID_REFERENCE", "The reference of the transfer is wrong.", NETWORK),
    ("RP_SEMANTICALLY_INCORRECT", "The message is not understood.", ENCODING),
    ("RP_INVALID_MANDATORY_INFORMATION", "A mandatory part of the message is wrong.", ENCODING),
    ("RP_MESSAGE_TYPE_NOT_IMPLEMENTED", "The type of the message is not implemented.", ENCODING),
    ("RP_MESSAGE_NOT_COMPATIBLE", "The message does not fit the state of the transfer.", NETWORK),
    ("RP_ELEMENT_NOT_IMPLEMENTED", "A part of the message is not implemented.", ENCODING),
    ("RP_PROTOCOL_ERROR", "The transfer broke the protocol.", NETWORK),
    ("RP_INTERWORKING", "Networks on the way do not work together.", NETWORK),
    // GMM causes: 3GPP TS 24.008 §10.5.5.14.
    ("GMM_IMSI_UNKNOWN", "The network does not know the IMSI, or the phone is off.", ABSENT),
    ("GMM_ILLEGAL_MS", "The network does not admit this card.", SUBSCRIBER),
    ("GMM_ILLEGAL_ME", "The network does not admit this phone.", SUBSCRIBER),
    ("GMM_SERVICE_NOT_ALLOWED", "The MSC takes no short messages over GSUP.", "Set sms-over-gsup in the configuration of OsmoMSC."),
    ("GMM_IMPLICITLY_DETACHED", "The phone has not been heard of for long.", ABSENT),
    ("GMM_MSC_NOT_REACHABLE", "The MSC cannot be reached for now.", NETWORK),
    ("GMM_NETWORK_FAILURE", "The phone did not answer when it was paged.", ABSENT),
    ("GMM_CONGESTION", "The network is congested.", NETWORK),
    ("GMM_NO_TRANSACTION", "The MSC does not know the transaction.", NETWORK),
    ("GMM_SEMANTICALLY_INCORRECT", "The message is not understood.", ENCODING),
    ("GMM_INVALID_MANDATORY_INFORMATION", "A mandatory part of the message is wrong.", ENCODING),
    ("GMM_MESSAGE_TYPE_NOT_IMPLEMENTED", "The MSC does not implement this type of message.", "Update the MSC, or set sms-over-gsup in its configuration."),
    ("GMM_PROTOCOL_ERROR", "The MSC found an error of the protocol.", NETWORK),
    // GSUP, and what this SMSC adds.
    ("GSUP_ROUTING_ERROR", "The MSC is not connected, or nobody knows where the subscriber is.", "See that the MSC is connected to the HLR, under the name that the HLR has of it."),
    ("GSUP_NO_ANSWER", "The network did not answer in time.", NETWORK),
    ("GSUP_NO_IMSI", "The IMSI of the number is not known.", "See that the source of IMSIs of this network knows the number."),
    ("GSUP_UNWRITABLE", "The message cannot be written as TPDUs.", "Send a shorter or plainer text."),
    ("GSUP_NO_CAUSE", "The network refused, and does not say why.", NETWORK),
    // User errors of MAP: 3GPP TS 29.002 §17.6.6.
    ("MAP_UNKNOWN_SUBSCRIBER", "The HLR does not know the number.", NUMBER),
    ("MAP_UNKNOWN_MSC", "The HLR does not know the MSC.", NETWORK),
    ("MAP_UNIDENTIFIED_SUBSCRIBER", "The MSC does not know the subscriber any more.", ABSENT),
    ("MAP_ABSENT_SUBSCRIBER_SM", "The subscriber cannot be reached.", ABSENT),
    ("MAP_ROAMING_NOT_ALLOWED", "The subscriber is in a network in which it may not roam.", ABSENT),
    ("MAP_ILLEGAL_SUBSCRIBER", "The network does not admit the subscriber.", SUBSCRIBER),
    ("MAP_BEARER_SERVICE_NOT_PROVISIONED", "The subscriber has not the bearer service.", SUBSCRIBER),
    ("MAP_TELESERVICE_NOT_PROVISIONED", "The subscriber has no short messages.", SUBSCRIBER),
    ("MAP_ILLEGAL_EQUIPMENT", "The network does not admit this phone.", SUBSCRIBER),
    ("MAP_CALL_BARRED", "The subscriber is barred.", SUBSCRIBER),
    ("MAP_FACILITY_NOT_SUPPORTED", "This node does not support short messages.", NETWORK),
    ("MAP_ABSENT_SUBSCRIBER", "The subscriber cannot be reached.", ABSENT),
    ("MAP_INCOMPATIBLE_TERMINAL", "The phone cannot take this message.", HANDSET),
    ("MAP_SUBSCRIBER_BUSY_FOR_MT_SMS", "The phone is taking another message.", ABSENT),
    ("MAP_SM_DELIVERY_FAILURE", "The phone or the MSC could not take the message.", HANDSET),
    ("MAP_MESSAGE_WAITING_LIST_FULL", "The HLR cannot note that a message waits.", ABSENT),
    ("MAP_SYSTEM_FAILURE", "A node of the network has failed.", NETWORK),
    ("MAP_DATA_MISSING", "A part of the request is missing.", ENCODING),
    ("MAP_UNEXPECTED_DATA_VALUE", "A part of the request has an unexpected value.", ENCODING),
    ("MAP_NUMBER_CHANGED", "The subscriber has another number.", NUMBER),
    ("MAP_RESOURCE_LIMITATION", "The network has no resources left.", NETWORK),
    ("MAP_UNAUTHORIZED_REQUESTING_NETWORK", "The network does not admit requests of ours.", "Have the roaming or interworking agreement with this network checked."),
    // absentSubscriberSM: 3GPP TS 23.040 §3.3.2.
    ("MAP_ABSENT_NO_PAGING_RESPONSE_MSC", "The phone did not answer when the MSC paged it.", ABSENT),
    ("MAP_ABSENT_IMSI_DETACHED", "The phone is off.", ABSENT),
    ("MAP_ABSENT_ROAMING_RESTRICTION", "The subscriber may not roam where it is.", ABSENT),
    ("MAP_ABSENT_DEREGISTERED_NON_GPRS", "The HLR has no place of the subscriber.", ABSENT),
    ("MAP_ABSENT_PURGED_NON_GPRS", "The MSC has not heard of the phone for long.", ABSENT),
    ("MAP_ABSENT_NO_PAGING_RESPONSE_SGSN", "The phone did not answer when the SGSN paged it.", ABSENT),
    ("MAP_ABSENT_GPRS_DETACHED", "The phone has no packet service.", ABSENT),
    ("MAP_ABSENT_DEREGISTERED_GPRS", "The HLR has no SGSN of the subscriber.", ABSENT),
    ("MAP_ABSENT_PURGED_GPRS", "The SGSN has not heard of the phone for long.", ABSENT),
    ("MAP_ABSENT_UNIDENTIFIED_MSC", "The MSC does not know the subscriber.", ABSENT),
    ("MAP_ABSENT_UNIDENTIFIED_SGSN", "The SGSN does not know the subscriber.", ABSENT),
    ("MAP_ABSENT_DEREGISTERED_IMS", "The subscriber is not registered in IMS.", ABSENT),
    ("MAP_ABSENT_NO_RESPONSE_IP_SM_GW", "The IP-SM-GW got no answer of the phone.", ABSENT),
    ("MAP_ABSENT_TEMPORARILY_UNAVAILABLE", "The phone is not available for now.", ABSENT),
    // sm-DeliveryFailure: 3GPP TS 29.002 §17.6.6.
    ("MAP_MEMORY_CAPACITY_EXCEEDED", "The memory of the phone is full.", ABSENT),
    ("MAP_EQUIPMENT_PROTOCOL_ERROR", "The phone broke the protocol.", HANDSET),
    ("MAP_EQUIPMENT_NOT_SM_EQUIPPED", "The phone takes no short messages.", SUBSCRIBER),
    ("MAP_UNKNOWN_SERVICE_CENTRE", "The network does not know this SMSC.", "Have the network enter the address of this SMSC (smsc_address of the network)."),
    ("MAP_SC_CONGESTION", "The network takes us for congested.", NETWORK),
    ("MAP_INVALID_SME_ADDRESS", "The network does not accept the address of the sender.", SENDER),
    ("MAP_SUBSCRIBER_NOT_SC_SUBSCRIBER", "The subscriber does not belong to this SMSC.", SUBSCRIBER),
    // Return causes of SCCP: ITU-T Q.713 §3.12.
    ("SCCP_NO_TRANSLATION_FOR_NATURE", "There is no global title translation for such numbers.", SIGNALLING),
    ("SCCP_NO_TRANSLATION", "There is no global title translation for this number.", SIGNALLING),
    ("SCCP_SUBSYSTEM_CONGESTION", "The addressed subsystem is congested.", SIGNALLING),
    ("SCCP_SUBSYSTEM_FAILURE", "The addressed subsystem is down.", SIGNALLING),
    ("SCCP_UNEQUIPPED_USER", "The addressed node has no such subsystem.", SIGNALLING),
    ("SCCP_MTP_FAILURE", "The signalling network cannot reach the node.", SIGNALLING),
    ("SCCP_NETWORK_CONGESTION", "The signalling network is congested.", SIGNALLING),
    ("SCCP_UNQUALIFIED", "SCCP returned the message without a reason.", SIGNALLING),
    ("SCCP_ERROR_IN_TRANSPORT", "SCCP had an error on the way.", SIGNALLING),
    ("SCCP_ERROR_IN_LOCAL_PROCESSING", "SCCP had an error in a node.", SIGNALLING),
    ("SCCP_NO_REASSEMBLY", "The destination cannot put segments together.", SIGNALLING),
    ("SCCP_FAILURE", "SCCP has failed.", SIGNALLING),
    ("SCCP_HOP_COUNTER_VIOLATION", "The message went in a circle of signalling nodes.", SIGNALLING),
    ("SCCP_SEGMENTATION_NOT_SUPPORTED", "A node does not support segments.", SIGNALLING),
    ("SCCP_SEGMENTATION_FAILURE", "Segments could not be made.", SIGNALLING),
    // P-Abort causes of TCAP: ITU-T Q.773 §4.2.1.
    ("TCAP_UNRECOGNIZED_MESSAGE_TYPE", "The other side does not know this type of TCAP message.", SIGNALLING),
    ("TCAP_UNRECOGNIZED_TRANSACTION_ID", "The other side does not know the transaction.", NETWORK),
    ("TCAP_BADLY_FORMATTED_TRANSACTION_PORTION", "The other side cannot read the transaction portion.", ENCODING),
    ("TCAP_INCORRECT_TRANSACTION_PORTION", "The transaction portion is wrong.", ENCODING),
    ("TCAP_RESOURCE_LIMITATION", "The other side has too many transactions.", NETWORK),
    ("TCAP_ABNORMAL_DIALOGUE", "The dialogue portion is not what was expected.", SIGNALLING),
    ("TCAP_NO_COMMON_DIALOGUE_PORTION", "Both sides know no common dialogue portion.", SIGNALLING),
    // How dialogues end.
    ("MAP_NO_ANSWER_OF_HLR", "The HLR did not answer in time.", SIGNALLING),
    ("MAP_NO_ANSWER", "The MSC or SGSN did not answer in time.", NETWORK),
    ("MAP_USER_ABORT", "The other side has aborted the dialogue.", NETWORK),
    ("MAP_DIALOGUE_REFUSED", "The other side refuses dialogues of ours.", SIGNALLING),
    ("MAP_CONTEXT_NOT_SUPPORTED", "The other side supports no version of this operation.", SIGNALLING),
    ("MAP_ENDED_WITHOUT_ANSWER", "The dialogue ended without an answer.", NETWORK),
    ("MAP_REJECTED", "The other side rejected the request.", ENCODING),
    ("MAP_NO_SERVING_NODE", "The HLR names no node that serves the subscriber.", ABSENT),
    ("MAP_UNREADABLE_ANSWER", "The answer of the network cannot be read.", ENCODING),
    ("MAP_UNWRITABLE", "The message or its number cannot be written in MAP.", NUMBER),
    ("MAP_NOT_SENT", "Nothing was sent: no signalling link, or too many dialogues.", SIGNALLING),
];

/// Codes of Chinese gateways, by their two letters; the digits behind are the code of who failed.
#[rustfmt::skip]
pub(super) const GATEWAYS: &[ErrorWords] = &[
    ("MA", "The SMSC of the carrier did not answer its gateway.", NETWORK),
    ("MB", "The SMSC of the carrier answered its gateway with this error.", SUPPORT),
    ("MC", "The gateway got no report from the SMSC of the carrier.", SUPPORT),
    ("CA", "The billing of the carrier did not answer its gateway.", NETWORK),
    ("CB", "The billing of the carrier answered with this error: a subscriber without credit is one.", SUBSCRIBER),
    ("DA", "The service platform of the carrier did not answer its gateway.", NETWORK),
    ("DB", "The service platform of the carrier answered with this error: lists and subscriptions are checked there.", SUPPORT),
    ("SA", "A service provider did not answer the gateway.", NETWORK),
    ("SB", "A service provider answered the gateway with this error.", SUPPORT),
    ("IA", "The next gateway did not answer.", NETWORK),
    ("IB", "The next gateway answered with this error.", SUPPORT),
    ("IC", "The next gateway sent no report.", SUPPORT),
    ("MK", "The network of the carrier could not deliver the message, for this reason.", SUPPORT),
];

/// Ends without an error code, by their state, and attempts without an answer.
#[rustfmt::skip]
pub(super) const STATES: &[ErrorWords] = &[
    ("EXPIRED", "Its validity ended before it was delivered.", "Look in its history whether it waited here or at the operator, and replay it with a longer validity."),
    ("DELETED", "It was cancelled or purged by a command.", "Replay it if that was a mistake."),
    ("UNDELIVERABLE", "It could not be delivered, and nobody says why.", SUPPORT),
    ("UNKNOWN", "Nobody knows what became of it: no receipt came, or one that says so.", "Ask the operator before you replay it: the phone may have it."),
    ("REJECTED", "It was refused without a code.", "Look into its history and the log for who refused it."),
    ("no answer", "The operator did not answer the last attempt in time.", "Look at the bind of the operator (smsc bind list), and ask before you replay: it may have the message."),
];
