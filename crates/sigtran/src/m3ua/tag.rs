//! The parameters of M3UA (RFC 4666 §3.2).

named! {
    u16;
    /// Words for people.
    INFO = 0x0004, "INFO String";
    /// Which application server: numbers.
    ROUTING_CONTEXT = 0x0006, "Routing Context";
    /// What was wrong: the first octets of a message.
    DIAGNOSTIC = 0x0007, "Diagnostic Information";
    /// What a heartbeat brings and its answer brings back.
    HEARTBEAT = 0x0009, "Heartbeat Data";
    /// [`super::super::TrafficMode`] as a number.
    TRAFFIC_MODE = 0x000B, "Traffic Mode Type";
    /// [`super::M3uaErrorCode`].
    ERROR_CODE = 0x000C, "Error Code";
    /// [`super::ApplicationStatus`].
    STATUS = 0x000D, "Status";
    /// Who the ASP is.
    ASP_IDENTIFIER = 0x0011, "ASP Identifier";
    /// Point codes, each with a mask in its highest octet.
    AFFECTED_POINT_CODE = 0x0012, "Affected Point Code";
    /// A mark of a DATA message.
    CORRELATION = 0x0013, "Correlation ID";
    /// Which SS7 network.
    NETWORK_APPEARANCE = 0x0200, "Network Appearance";
    /// Why a user part is not there, and which: two numbers of 16 bits.
    USER_CAUSE = 0x0204, "User/Cause";
    /// How congested a destination is, 0 to 3.
    CONGESTION = 0x0205, "Congestion Indications";
    /// Whose message met congestion.
    CONCERNED_DESTINATION = 0x0206, "Concerned Destination";
    /// What an application server gets: a group.
    ROUTING_KEY = 0x0207, "Routing Key";
    /// What became of a registration: a group.
    REGISTRATION_RESULT = 0x0208, "Registration Result";
    /// What became of a deregistration: a group.
    DEREGISTRATION_RESULT = 0x0209, "Deregistration Result";
    /// Which of the keys of a request.
    LOCAL_ROUTING_KEY = 0x020A, "Local-RK-Identifier";
    /// The point code of a key.
    DESTINATION_POINT_CODE = 0x020B, "Destination Point Code";
    /// The service indicators of a key: octets.
    SERVICE_INDICATORS = 0x020C, "Service Indicators";
    /// The originating point codes of a key.
    ORIGINATING_POINT_CODES = 0x020E, "Originating Point Code List";
    /// [`super::ProtocolData`].
    PROTOCOL_DATA = 0x0210, "Protocol Data";
    /// See [`super::registration_status`].
    REGISTRATION_STATUS = 0x0212, "Registration Status";
    /// What became of a deregistration, as a number.
    DEREGISTRATION_STATUS = 0x0213, "Deregistration Status";
}

/// The name of a parameter, as RFC 4666 writes it.
#[must_use]
pub fn name(tag: u16) -> &'static str {
    crate::name_of(NAMED, &tag).unwrap_or("unknown parameter")
}
