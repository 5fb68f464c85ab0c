//! The parameters of M3UA (RFC 4666 §3.2).

/// Words for people.
pub const INFO: u16 = 0x0004;
/// Which application server: numbers.
pub const ROUTING_CONTEXT: u16 = 0x0006;
/// What was wrong: the first octets of a message.
pub const DIAGNOSTIC: u16 = 0x0007;
/// What a heartbeat brings and its answer brings back.
pub const HEARTBEAT: u16 = 0x0009;
/// [`super::super::TrafficMode`] as a number.
pub const TRAFFIC_MODE: u16 = 0x000B;
/// [`super::M3uaErrorCode`].
pub const ERROR_CODE: u16 = 0x000C;
/// [`super::ApplicationStatus`].
pub const STATUS: u16 = 0x000D;
/// Who the ASP is.
pub const ASP_IDENTIFIER: u16 = 0x0011;
/// Point codes, each with a mask in its highest octet.
pub const AFFECTED_POINT_CODE: u16 = 0x0012;
/// A mark of a DATA message.
pub const CORRELATION: u16 = 0x0013;
/// Which SS7 network.
pub const NETWORK_APPEARANCE: u16 = 0x0200;
/// Why a user part is not there, and which: two numbers of 16 bits.
pub const USER_CAUSE: u16 = 0x0204;
/// How congested a destination is, 0 to 3.
pub const CONGESTION: u16 = 0x0205;
/// Whose message met congestion.
pub const CONCERNED_DESTINATION: u16 = 0x0206;
/// What an application server gets: a group.
pub const ROUTING_KEY: u16 = 0x0207;
/// What became of a registration: a group.
pub const REGISTRATION_RESULT: u16 = 0x0208;
/// What became of a deregistration: a group.
pub const DEREGISTRATION_RESULT: u16 = 0x0209;
/// Which of the keys of a request.
pub const LOCAL_ROUTING_KEY: u16 = 0x020A;
/// The point code of a key.
pub const DESTINATION_POINT_CODE: u16 = 0x020B;
/// The service indicators of a key: octets.
pub const SERVICE_INDICATORS: u16 = 0x020C;
/// The originating point codes of a key.
pub const ORIGINATING_POINT_CODES: u16 = 0x020E;
/// [`super::ProtocolData`].
pub const PROTOCOL_DATA: u16 = 0x0210;
/// See [`super::registration_status`].
pub const REGISTRATION_STATUS: u16 = 0x0212;
/// What became of a deregistration, as a number.
pub const DEREGISTRATION_STATUS: u16 = 0x0213;

/// The name of a parameter, as RFC 4666 writes it.
#[must_use]
pub fn name(tag: u16) -> &'static str {
    match tag {
        INFO => "INFO String",
        ROUTING_CONTEXT => "Routing Context",
        DIAGNOSTIC => "Diagnostic Information",
        HEARTBEAT => "Heartbeat Data",
        TRAFFIC_MODE => "Traffic Mode Type",
        ERROR_CODE => "Error Code",
        STATUS => "Status",
        ASP_IDENTIFIER => "ASP Identifier",
        AFFECTED_POINT_CODE => "Affected Point Code",
        CORRELATION => "Correlation ID",
        NETWORK_APPEARANCE => "Network Appearance",
        USER_CAUSE => "User/Cause",
        CONGESTION => "Congestion Indications",
        CONCERNED_DESTINATION => "Concerned Destination",
        ROUTING_KEY => "Routing Key",
        REGISTRATION_RESULT => "Registration Result",
        DEREGISTRATION_RESULT => "Deregistration Result",
        LOCAL_ROUTING_KEY => "Local-RK-Identifier",
        DESTINATION_POINT_CODE => "Destination Point Code",
        SERVICE_INDICATORS => "Service Indicators",
        ORIGINATING_POINT_CODES => "Originating Point Code List",
        PROTOCOL_DATA => "Protocol Data",
        REGISTRATION_STATUS => "Registration Status",
        DEREGISTRATION_STATUS => "Deregistration Status",
        _ => "unknown parameter",
    }
}
