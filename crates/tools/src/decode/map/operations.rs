//! The operations of MAP for short messages: their names, arguments, results and errors (3GPP TS 29.002 §17.6.6, 17.7.6), and
//! the names of what TCAP says.

use super::shape::{Member, Shape, defined, member};
use smsc_map::context::{
    MWD_MNGT, SHORT_MSG_ALERT, SHORT_MSG_GATEWAY, SHORT_MSG_MO_RELAY, SHORT_MSG_MT_RELAY,
};
use smsc_map::{MapOperationCode, MapUserError};
use smsc_tcap::PAbortCause;

/// What a component carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    Argument,
    Result,
    Error,
}

/// forwardSM and mo-ForwardSM, as the codes of components are read.
pub const FORWARD_SM: i32 = MapOperationCode::FORWARD_SM.0 as i32;

/// Name of an operation (§17.6.6).
pub fn operation(code: i32) -> &'static str {
    match code {
        FORWARD_SM => "mo-ForwardSM or forwardSM",
        21 => "mt-ForwardSM-VGCS",
        _ => {
            let code = u8::try_from(code).map(MapOperationCode);
            let name = code.ok().and_then(MapOperationCode::name);
            name.unwrap_or("operation")
        }
    }
}

/// The elements of what a component of an operation carries.
pub fn members(code: i32, carried: Carried) -> &'static [Member] {
    let code = u8::try_from(code).ok();
    let (argument, result) = match code.map(MapOperationCode) {
        Some(MapOperationCode::SEND_ROUTING_INFO_FOR_SM) => (ROUTING_ARGUMENT, ROUTING_RESULT),
        Some(MapOperationCode::MT_FORWARD_SM | MapOperationCode::FORWARD_SM) => {
            (FORWARD_ARGUMENT, FORWARD_RESULT)
        }
        Some(MapOperationCode::REPORT_SM_DELIVERY_STATUS) => (REPORT_ARGUMENT, STORED),
        Some(MapOperationCode::ALERT_WITHOUT_RESULT | MapOperationCode::ALERT_SERVICE_CENTRE) => {
            (ALERT_ARGUMENT, UNNAMED)
        }
        Some(MapOperationCode::INFORM_SERVICE_CENTRE) => (INFORM_ARGUMENT, UNNAMED),
        Some(MapOperationCode::READY_FOR_SM) => (READY_ARGUMENT, UNNAMED),
        _ => (UNNAMED, UNNAMED),
    };
    match (carried, code) {
        (Carried::Argument, _) => argument,
        (Carried::Result, _) => result,
        (Carried::Error, Some(MapUserError::ABSENT_SUBSCRIBER_SM)) => ABSENT,
        (Carried::Error, Some(MapUserError::SM_DELIVERY_FAILURE)) => DELIVERY_FAILURE,
        (Carried::Error, _) => OTHER_ERROR,
    }
}

/// Elements without names.
const UNNAMED: &[Member] = &[];

/// Why a subscriber is absent.
const fn diagnostic(tag: u32) -> Member {
    let shape = Shape::Number(ABSENT_DIAGNOSTIC);
    defined(tag, "absentSubscriberDiagnosticSM", shape, "§7.6.8.9")
}

/// Why a subscriber is absent from the other node.
const fn additional_diagnostic(tag: u32) -> Member {
    let (name, shape) = (
        "additionalAbsentSubscriberDiagnosticSM",
        Shape::Number(ABSENT_DIAGNOSTIC),
    );
    defined(tag, name, shape, "§7.6.8.12")
}

const EXTENSION: Member = member(0x30, "extension container", Shape::Sequence(&[]));

const ROUTING_ARGUMENT: &[Member] = &[
    defined(0x80, "msisdn", Shape::Address, "§7.6.2.17"),
    defined(0x81, "sm-RP-PRI", Shape::Truth, "§7.6.8.5"),
    defined(0x82, "serviceCentreAddress", Shape::Address, "§7.6.2.27"),
    member(0x85, "teleservice", Shape::Octets),
    member(0xA6, "extension container", Shape::Sequence(&[])),
    defined(0x87, "gprsSupportIndicator", Shape::Octets, "§7.6.8.15"),
    defined(0x88, "sm-RP-MTI", Shape::Number(MESSAGE_TYPE), "§7.6.8.16"),
    defined(0x89, "sm-RP-SMEA", Shape::Octets, "§7.6.8.17"),
    member(0x8A, "sm-deliveryNotIntended", Shape::Number(NOT_INTENDED)),
    member(0x8B, "ip-sm-gwGuidanceIndicator", Shape::Octets),
    defined(0x8C, "imsi", Shape::Digits, "§7.6.2.1"),
    member(0x8D, "singleAttemptDelivery", Shape::Octets),
    member(0x8E, "t4-Trigger-Indicator", Shape::Octets),
    member(0xAF, "correlationID", Shape::Sequence(&[])),
    member(0x90, "smsf-supportIndicator", Shape::Octets),
];

const ROUTING_RESULT: &[Member] = &[
    defined(0x04, "imsi", Shape::Digits, "§7.6.2.1"),
    member(0xA0, "locationInfoWithLMSI", Shape::Sequence(LOCATION)),
    member(0x82, "mwd-Set", Shape::Truth),
    member(0xA4, "extension container", Shape::Sequence(&[])),
    member(0xA5, "ip-sm-gwGuidance", Shape::Sequence(&[])),
];

const LOCATION: &[Member] = &[
    defined(0x81, "networkNode-Number", Shape::Address, "§7.6.2.11"),
    defined(0x04, "lmsi", Shape::Octets, "§7.6.2.16"),
    EXTENSION,
    defined(0x85, "gprsNodeIndicator", Shape::Octets, "§7.6.8.14"),
    member(0xA6, "additional-Number", Shape::Sequence(ADDITIONAL)),
];

const ADDITIONAL: &[Member] = &[
    defined(0x80, "msc-Number", Shape::Address, "§7.6.2.11"),
    defined(0x81, "sgsn-Number", Shape::Address, "§7.6.2.38"),
];

const FORWARD_ARGUMENT: &[Member] = &[
    defined(0x80, "sm-RP-DA: imsi", Shape::Digits, "§7.6.8.1"),
    defined(0x81, "sm-RP-DA: lmsi", Shape::Octets, "§7.6.8.1"),
    defined(
        SERVICE_CENTRE,
        "sm-RP-DA: serviceCentreAddress",
        Shape::Address,
        "§7.6.8.1",
    ),
    defined(0x85, "sm-RP-DA: none", Shape::Octets, "§7.6.8.1"),
    defined(0x82, "sm-RP-OA: msisdn", Shape::Address, "§7.6.8.2"),
    defined(
        SERVICE_CENTRE,
        "sm-RP-OA: serviceCentreAddress",
        Shape::Address,
        "§7.6.8.2",
    ),
    defined(0x85, "sm-RP-OA: none", Shape::Octets, "§7.6.8.2"),
    defined(0x04, "sm-RP-UI", Shape::Tpdu, "§7.6.8.4"),
    defined(0x05, "moreMessagesToSend", Shape::Octets, "§7.6.8.7"),
    EXTENSION,
    // Of an mo-ForwardSM.
    defined(0x04, "imsi", Shape::Digits, "§7.6.2.1"),
    // Of an mt-ForwardSM.
    member(0x02, "smDeliveryTimer", Shape::Number(&[])),
];

/// The tag of a service centre in the address where a message goes to, and in that where it comes from.
pub const SERVICE_CENTRE: u32 = 0x84;

const FORWARD_RESULT: &[Member] = &[
    defined(0x04, "sm-RP-UI", Shape::Tpdu, "§7.6.8.4"),
    EXTENSION,
];

const REPORT_ARGUMENT: &[Member] = &[
    defined(0x04, "msisdn", Shape::Address, "§7.6.2.17"),
    defined(0x04, "serviceCentreAddress", Shape::Address, "§7.6.2.27"),
    defined(
        0x0A,
        "sm-DeliveryOutcome",
        Shape::Number(OUTCOME),
        "§7.6.8.6",
    ),
    diagnostic(0x80),
    member(0xA1, "extension container", Shape::Sequence(&[])),
    defined(0x82, "gprsSupportIndicator", Shape::Octets, "§7.6.8.15"),
    defined(0x83, "deliveryOutcomeIndicator", Shape::Octets, "§7.6.8.13"),
    defined(
        0x84,
        "additionalSM-DeliveryOutcome",
        Shape::Number(OUTCOME),
        "§7.6.8.11",
    ),
    additional_diagnostic(0x85),
];

const STORED: &[Member] = &[
    defined(0x04, "storedMSISDN", Shape::Address, "§7.6.2.17"),
    EXTENSION,
];

const ALERT_ARGUMENT: &[Member] = &[
    defined(0x04, "msisdn", Shape::Address, "§7.6.2.17"),
    defined(0x04, "serviceCentreAddress", Shape::Address, "§7.6.2.27"),
];

const INFORM_ARGUMENT: &[Member] = &[
    defined(0x04, "storedMSISDN", Shape::Address, "§7.6.2.17"),
    defined(0x03, "mw-Status", Shape::Bits(MW_STATUS), "§7.6.8.3"),
    EXTENSION,
    diagnostic(0x02),
    additional_diagnostic(0x80),
];

const MW_STATUS: &[&str] = &[
    "the service centre is not in the waiting list",
    "MNRF: not reachable by the MSC",
    "MCEF: memory capacity exceeded",
    "MNRG: not reachable by the SGSN",
];

const READY_ARGUMENT: &[Member] = &[
    defined(0x80, "imsi", Shape::Digits, "§7.6.2.1"),
    defined(0x0A, "alertReason", Shape::Number(ALERT_REASON), "§7.6.8.8"),
    defined(0x05, "alertReasonIndicator", Shape::Octets, "§7.6.8.10"),
];

const ABSENT: &[Member] = &[diagnostic(0x02), EXTENSION, additional_diagnostic(0x80)];

const DELIVERY_FAILURE: &[Member] = &[
    member(0x0A, "cause", Shape::Number(FAILURE_CAUSE)),
    defined(0x04, "diagnosticInfo", Shape::Tpdu, "§7.6.8.4"),
    EXTENSION,
];

const OTHER_ERROR: &[Member] = &[member(0x0A, "reason", Shape::Number(&[])), EXTENSION];

/// Name of a user error (§17.6.6, 17.7.7).
pub fn error(code: i32) -> &'static str {
    match code {
        1 => "unknownSubscriber",
        5 => "unidentifiedSubscriber",
        6 => "absentSubscriberSM",
        9 => "illegalSubscriber",
        11 => "teleserviceNotProvisioned",
        12 => "illegalEquipment",
        13 => "callBarred",
        21 => "facilityNotSupported",
        27 => "absentSubscriber",
        31 => "subscriberBusyForMT-SMS",
        32 => "sm-DeliveryFailure",
        33 => "messageWaitingListFull",
        34 => "systemFailure",
        35 => "dataMissing",
        36 => "unexpectedDataValue",
        51 => "resourceLimitation",
        _ => "error",
    }
}

/// What an application context of MAP is for (§17.3.3); of `0.4.0.0.1.0.context.version`.
pub fn context(number: &str) -> &'static str {
    match number.parse::<u8>() {
        Ok(SHORT_MSG_GATEWAY) => "shortMsgGateway",
        Ok(SHORT_MSG_MO_RELAY) => "shortMsgMO-Relay",
        Ok(SHORT_MSG_ALERT) => "shortMsgAlert",
        Ok(MWD_MNGT) => "mwdMngt",
        Ok(SHORT_MSG_MT_RELAY) => "shortMsgMT-Relay",
        _ => "another context",
    }
}

const MESSAGE_TYPE: &[&str] = &["SMS-DELIVER", "SMS-STATUS-REPORT"];

const NOT_INTENDED: &[&str] = &[
    "only the IMSI is wanted",
    "only country and network are wanted",
];

const OUTCOME: &[&str] = &[
    "memoryCapacityExceeded",
    "absentSubscriber",
    "successfulTransfer",
];

const ALERT_REASON: &[&str] = &["the phone is present", "the phone has memory"];

const FAILURE_CAUSE: &[&str] = &[
    "memoryCapacityExceeded",
    "equipmentProtocolError",
    "equipmentNotSM-Equipped",
    "unknownServiceCentre",
    "sc-Congestion",
    "invalidSME-Address",
    "subscriberNotSC-Subscriber",
];

/// Why a subscriber is absent (TS 23.040 §3.3.2).
const ABSENT_DIAGNOSTIC: &[&str] = &[
    "no answer to paging by the MSC",
    "IMSI detached",
    "roaming not allowed",
    "deregistered in the HLR, for other than GPRS",
    "purged, for other than GPRS",
    "no answer to paging by the SGSN",
    "GPRS detached",
    "deregistered in the HLR, for GPRS",
    "purged, for GPRS",
    "subscriber not identified at the MSC",
    "subscriber not identified at the SGSN",
    "deregistered in the HLR, for IMS",
    "no answer by the IP-SM-GW",
    "temporarily unavailable",
];

/// P-AbortCause (Q.773 §3.1).
pub fn abort_cause(number: i32) -> &'static str {
    let cause = u8::try_from(number).map(PAbortCause::from);
    cause.ok().and_then(PAbortCause::name).unwrap_or_default()
}

pub const ABORT_SOURCE: &[&str] = &["the user", "the provider"];

pub const ASSOCIATE_RESULT: &[&str] = &["accepted", "refused for good"];

pub const USER_DIAGNOSTIC: &[&str] = &[
    "none",
    "no reason given",
    "application context not supported",
];

pub const PROVIDER_DIAGNOSTIC: &[&str] = &["none", "no reason given", "no common dialogue portion"];

pub const REFUSE_REASON: &[&str] = &[
    "no reason given",
    "invalid destination reference",
    "invalid originating reference",
];

/// Problem of a reject, by its tag (Q.773 §3.3).
pub fn problem(tag: u32, code: i32) -> &'static str {
    match (tag, code) {
        (0x80, 0) => "unrecognized component",
        (0x80, 1) => "mistyped component",
        (0x80, 2) => "badly structured component",
        (0x81, 0) => "duplicate invoke id",
        (0x81, 1) => "unrecognized operation",
        (0x81, 2) => "mistyped parameter",
        (0x81, 3) => "resource limitation",
        (0x81, 4) => "initiating release",
        (0x81, 5) => "unrecognized linked id",
        (0x81, 6) => "linked response unexpected",
        (0x81, 7) => "unexpected linked operation",
        (0x82, 0) => "unrecognized invoke id",
        (0x82, 1) => "result unexpected",
        (0x82, 2) => "mistyped parameter",
        (0x83, 0) => "unrecognized invoke id",
        (0x83, 1) => "error unexpected",
        (0x83, 2) => "unrecognized error",
        (0x83, 3) => "unexpected error",
        (0x83, 4) => "mistyped parameter",
        _ => "",
    }
}
