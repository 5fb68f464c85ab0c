//! The operations for short messages: codes, names, and how long their answers may take.
//!
//! 3GPP TS 29.002 §17.6.5. Version 1 knows forwardSM for both directions, version 2 as well; version 3 has
//! mo-ForwardSM under its code, and mt-ForwardSM under another one.

use std::fmt;

/// The local code of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MapOperationCode(pub u8);

/// How long an answer may take, as a class; the seconds are configured. TS 29.002 §17.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapTimerClass {
    /// 3 to 10 seconds.
    Short,
    /// 15 to 30 seconds.
    Medium,
    /// 1 to 10 minutes ("ml"): a handset is paged.
    Long,
    /// Nobody answers.
    NotAwaited,
}

// === impl MapOperationCode ===

impl MapOperationCode {
    /// mt-ForwardSM; since version 3.
    pub const MT_FORWARD_SM: Self = Self(44);
    /// sendRoutingInfoForSM.
    pub const SEND_ROUTING_INFO_FOR_SM: Self = Self(45);
    /// forwardSM in both directions in versions 1 and 2, mo-ForwardSM in version 3.
    pub const FORWARD_SM: Self = Self(46);
    /// reportSM-DeliveryStatus.
    pub const REPORT_SM_DELIVERY_STATUS: Self = Self(47);
    /// alertServiceCentreWithoutResult, of version 1.
    pub const ALERT_WITHOUT_RESULT: Self = Self(49);
    /// informServiceCentre.
    pub const INFORM_SERVICE_CENTRE: Self = Self(63);
    /// alertServiceCentre; since version 2.
    pub const ALERT_SERVICE_CENTRE: Self = Self(64);
    /// readyForSM, from an MSC to an HLR.
    pub const READY_FOR_SM: Self = Self(66);

    /// Its name in the standard; `None` for what has nothing to do with short messages.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::MT_FORWARD_SM => "mt-ForwardSM",
            Self::SEND_ROUTING_INFO_FOR_SM => "sendRoutingInfoForSM",
            Self::FORWARD_SM => "forwardSM",
            Self::REPORT_SM_DELIVERY_STATUS => "reportSM-DeliveryStatus",
            Self::ALERT_WITHOUT_RESULT => "alertServiceCentreWithoutResult",
            Self::INFORM_SERVICE_CENTRE => "informServiceCentre",
            Self::ALERT_SERVICE_CENTRE => "alertServiceCentre",
            Self::READY_FOR_SM => "readyForSM",
            _ => return None,
        })
    }

    /// How long its answer may take.
    #[must_use]
    pub fn timer(self) -> MapTimerClass {
        match self {
            Self::MT_FORWARD_SM | Self::FORWARD_SM => MapTimerClass::Long,
            Self::SEND_ROUTING_INFO_FOR_SM => MapTimerClass::Medium,
            Self::INFORM_SERVICE_CENTRE | Self::ALERT_WITHOUT_RESULT => MapTimerClass::NotAwaited,
            _ => MapTimerClass::Short,
        }
    }
}

impl fmt::Display for MapOperationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "operation {}", self.0),
        }
    }
}

impl fmt::Debug for MapOperationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
