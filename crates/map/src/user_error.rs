//! The errors of operations: codes, what else they say, and the status that the message gets.
//!
//! 3GPP TS 29.002 §17.6.6 and §17.7.7. Parameters differ by version: sm-DeliveryFailure is a mere cause in version 1,
//! absentSubscriber has a flag there. What cannot be read of a parameter is left out: the error itself counts.

use bytes::Bytes;
use smsc_domain::gsm_result::map::{self, MoMapError};
use smsc_tcap::ber::{self, BerElements};

use crate::context::MapVersion;
use crate::parameter::{
    ENUMERATED, UnwritableMap, sequence_of, signal_info, small, write_signal_info, write_small,
};

/// The tag of additionalAbsentSubscriberDiagnosticSM.
const ADDITIONAL_DIAGNOSTIC: u32 = 0x80;

/// An error with what its parameter says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapUserError {
    /// absentSubscriberSM.
    AbsentSubscriberSm {
        /// Why (TS 23.040 §3.3.2).
        diagnostic: Option<u8>,
        /// Why at the other node.
        additional: Option<u8>,
    },
    /// sm-DeliveryFailure.
    SmDeliveryFailure {
        /// SM-EnumeratedDeliveryFailureCause, 0 to 6.
        cause: Option<u8>,
        /// diagnosticInfo: the report of the handset or of the service centre, a TPDU.
        report: Option<Bytes>,
    },
    /// Any other, by its code.
    Other(u8),
}

// === impl MapUserError ===

impl MapUserError {
    pub const UNKNOWN_SUBSCRIBER: u8 = 1;
    pub const UNIDENTIFIED_SUBSCRIBER: u8 = 5;
    pub const ABSENT_SUBSCRIBER_SM: u8 = 6;
    pub const FACILITY_NOT_SUPPORTED: u8 = 21;
    pub const ABSENT_SUBSCRIBER: u8 = 27;
    pub const SUBSCRIBER_BUSY_FOR_MT_SMS: u8 = 31;
    pub const SM_DELIVERY_FAILURE: u8 = 32;
    pub const SYSTEM_FAILURE: u8 = 34;
    pub const DATA_MISSING: u8 = 35;
    pub const UNEXPECTED_DATA_VALUE: u8 = 36;
    pub const RESOURCE_LIMITATION: u8 = 51;
    /// The cause memoryCapacityExceeded.
    pub const MEMORY_CAPACITY_EXCEEDED: u8 = 0;

    /// Reads an error of any version.
    #[must_use]
    pub fn decode(code: u8, parameter: &[u8]) -> Self {
        match code {
            Self::ABSENT_SUBSCRIBER_SM => {
                let (mut diagnostic, mut additional) = (None, None);
                for element in elements_of(parameter).flatten() {
                    let value = small(&element, "the diagnostic").ok();
                    match element.tag {
                        ber::INTEGER => diagnostic = value,
                        ADDITIONAL_DIAGNOSTIC => additional = value,
                        _ => {}
                    }
                }
                Self::AbsentSubscriberSm {
                    diagnostic,
                    additional,
                }
            }
            Self::SM_DELIVERY_FAILURE => {
                let (mut cause, mut report) = (None, None);
                for element in elements_of(parameter).flatten() {
                    match element.tag {
                        ENUMERATED => cause = small(&element, "the cause").ok(),
                        ber::OCTET_STRING => report = signal_info(&element).ok(),
                        _ => {}
                    }
                }
                Self::SmDeliveryFailure { cause, report }
            }
            _ => Self::Other(code),
        }
    }

    /// Its code.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Self::AbsentSubscriberSm { .. } => Self::ABSENT_SUBSCRIBER_SM,
            Self::SmDeliveryFailure { .. } => Self::SM_DELIVERY_FAILURE,
            Self::Other(code) => *code,
        }
    }

    /// Writes its parameter as one version has it; that of others than the two that are known is left out, as all of
    /// them may.
    ///
    /// # Errors
    /// [`UnwritableMap`]: a report that is too long.
    pub fn encode(&self, version: MapVersion) -> Result<Bytes, UnwritableMap> {
        let mut out = Vec::new();
        match self {
            Self::AbsentSubscriberSm {
                diagnostic,
                additional,
            } => {
                write_small(&mut out, ber::INTEGER, *diagnostic);
                write_small(&mut out, ADDITIONAL_DIAGNOSTIC, *additional);
            }
            Self::SmDeliveryFailure {
                cause: Some(cause),
                report,
            } => {
                write_small(&mut out, ENUMERATED, Some(*cause));
                if version == MapVersion::V1 {
                    return Ok(out.into());
                }
                if let Some(report) = report {
                    write_signal_info(&mut out, ber::OCTET_STRING, report)?;
                }
            }
            Self::SmDeliveryFailure { cause: None, .. } | Self::Other(_) => {}
        }
        if out.is_empty() {
            return Ok(Bytes::new());
        }
        Ok(sequence_of(&out))
    }

    /// The status that a message gets for it.
    #[must_use]
    pub fn status(&self) -> u32 {
        match self {
            Self::AbsentSubscriberSm { diagnostic, .. } => map::of_absent(*diagnostic),
            Self::SmDeliveryFailure { cause, .. } => map::of_delivery_failure(*cause),
            Self::Other(code) => map::of_user_error(*code),
        }
    }

    /// Whether it says that the subscriber is not there.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(
            self,
            Self::AbsentSubscriberSm { .. }
                | Self::Other(Self::ABSENT_SUBSCRIBER | Self::UNIDENTIFIED_SUBSCRIBER)
        )
    }

    /// Whether it says that the handset has no memory.
    #[must_use]
    pub fn is_memory_exceeded(&self) -> bool {
        let memory = Some(Self::MEMORY_CAPACITY_EXCEEDED);
        matches!(self, Self::SmDeliveryFailure { cause, .. } if *cause == memory)
    }
}

impl MapUserError {
    /// What the MSC of a handset gets whose message is refused with an RP-cause. A report goes with a failure only, so
    /// that one with a report is always one.
    #[must_use]
    pub fn of_refusal(rp_cause: u8, report: Option<Bytes>) -> Self {
        match (MoMapError::of_rp(rp_cause), report) {
            (MoMapError::DeliveryFailure(cause), report) => Self::SmDeliveryFailure {
                cause: Some(cause),
                report,
            },
            (error, None) => Self::Other(error.code()),
            (MoMapError::SystemFailure, report) => Self::SmDeliveryFailure {
                cause: Some(MoMapError::CONGESTION),
                report,
            },
            (_, report) => Self::SmDeliveryFailure {
                cause: Some(MoMapError::INVALID_ADDRESS),
                report,
            },
        }
    }
}

impl MapUserError {
    /// What a foreign service centre gets whose message for a subscriber of ours is refused with an RP-cause. It is to try
    /// again where that may help: none of these errors says that the subscriber is absent, or has no memory.
    #[must_use]
    pub fn of_refused_forward(rp_cause: u8) -> Self {
        Self::Other(match MoMapError::of_rp(rp_cause) {
            MoMapError::DeliveryFailure(MoMapError::CONGESTION) | MoMapError::SystemFailure => {
                Self::SYSTEM_FAILURE
            }
            MoMapError::DeliveryFailure(_) | MoMapError::FacilityNotSupported => {
                Self::FACILITY_NOT_SUPPORTED
            }
            MoMapError::UnexpectedDataValue | MoMapError::DataMissing => {
                Self::UNEXPECTED_DATA_VALUE
            }
        })
    }
}

/// The elements of a parameter: those of a sequence, or the only one. None of what is no BER.
fn elements_of(parameter: &[u8]) -> BerElements<'_> {
    match ber::only(parameter) {
        Ok(element) if element.tag == ber::SEQUENCE => BerElements::of(element.content),
        Ok(element) => BerElements::of(element.whole),
        Err(_) => BerElements::of(&[]),
    }
}

#[cfg(test)]
mod tests;
