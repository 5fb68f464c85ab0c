//! What keeps the list of those who wait at an HLR: reportSM-DeliveryStatus to it; alertServiceCentre and
//! informServiceCentre from it. 3GPP TS 29.002 §12.3, §12.5, §12.6, §17.7.6.

use bytes::Bytes;
use smsc_sms::tpdu::TpduAddress;
use smsc_tcap::ber::{self, BerElements};

use crate::context::MapVersion;
use crate::parameter::{
    BIT_STRING, ENUMERATED, MalformedMap, UnwritableMap, address, required, sequence, sequence_of,
    small, write_address, write_flag, write_isdn_address, write_small,
};

/// Tags of ReportSM-DeliveryStatusArg.
const DIAGNOSTIC: u32 = 0x80;
const GPRS_SUPPORT: u32 = 0x82;
const OUTCOME_INDICATOR: u32 = 0x83;
const ADDITIONAL_OUTCOME: u32 = 0x84;
const ADDITIONAL_DIAGNOSTIC: u32 = 0x85;
/// The tag of the second diagnostic of InformServiceCentreArg.
const INFORM_ADDITIONAL: u32 = 0x80;

/// What became of a message (SM-DeliveryOutcome).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmDeliveryOutcome {
    /// The handset has no memory.
    MemoryCapacityExceeded = 0,
    /// The subscriber is not there.
    AbsentSubscriber = 1,
    /// It has arrived.
    SuccessfulTransfer = 2,
}

/// The argument of reportSM-DeliveryStatus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportDeliveryStatusArg {
    /// The subscriber.
    pub msisdn: TpduAddress,
    /// Who reports, and is to be alerted.
    pub service_centre: TpduAddress,
    /// What became of the message; since version 2, which must have it.
    pub outcome: Option<SmDeliveryOutcome>,
    /// Why the subscriber is absent (TS 23.040 §3.3.2); in version 3, as all that follows.
    pub diagnostic: Option<u8>,
    /// The reporter knows of SGSNs.
    pub gprs_support: bool,
    /// The outcome is that at an SGSN.
    pub of_sgsn: bool,
    /// What became of it at the other node.
    pub additional: Option<(SmDeliveryOutcome, Option<u8>)>,
}

/// The result of reportSM-DeliveryStatus.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportDeliveryStatusResult {
    /// The number in the list, where it is another one than that of the report.
    pub stored_msisdn: Option<TpduAddress>,
}

/// The argument of alertServiceCentre, and of alertServiceCentreWithoutResult.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertServiceCentreArg {
    /// The subscriber that is there again.
    pub msisdn: TpduAddress,
    /// Who is alerted.
    pub service_centre: TpduAddress,
}

/// MW-Status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageWaitingStatus {
    /// The service centre is not in the list.
    pub not_included: bool,
    /// MNRF: not reachable at the MSC.
    pub not_reachable: bool,
    /// MCEF: the handset has no memory.
    pub memory_exceeded: bool,
    /// MNRG: not reachable at the SGSN.
    pub not_reachable_gprs: bool,
}

/// The argument of informServiceCentre.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InformServiceCentreArg {
    /// The number in the list.
    pub stored_msisdn: Option<TpduAddress>,
    /// What the HLR has noted.
    pub status: Option<MessageWaitingStatus>,
    /// Why the subscriber is absent (TS 23.040 §3.3.2).
    pub diagnostic: Option<u8>,
    /// Why it is absent at the other node.
    pub additional_diagnostic: Option<u8>,
}

// === impl SmDeliveryOutcome ===

impl SmDeliveryOutcome {
    fn of(value: u8) -> Option<Self> {
        Some(match value {
            0 => Self::MemoryCapacityExceeded,
            1 => Self::AbsentSubscriber,
            2 => Self::SuccessfulTransfer,
            _ => return None,
        })
    }

    fn value(self) -> u8 {
        self as u8
    }
}

// === impl ReportDeliveryStatusArg ===

impl ReportDeliveryStatusArg {
    /// Reads an argument of any version.
    ///
    /// # Errors
    /// [`MalformedMap`].
    pub fn decode(parameter: &[u8]) -> Result<Self, MalformedMap> {
        let mut elements = sequence(parameter)?;
        let (msisdn, service_centre) = two_addresses(&mut elements)?;
        let mut report = Self {
            msisdn,
            service_centre,
            outcome: None,
            diagnostic: None,
            gprs_support: false,
            of_sgsn: false,
            additional: None,
        };
        let (mut outcome, mut diagnostic) = (None, None);
        for element in elements {
            let element = element?;
            match element.tag {
                ENUMERATED => {
                    let value = small(&element, "the outcome")?;
                    let fault = MalformedMap::Field("the outcome");
                    report.outcome = Some(SmDeliveryOutcome::of(value).ok_or(fault)?);
                }
                DIAGNOSTIC => report.diagnostic = Some(small(&element, "the diagnostic")?),
                GPRS_SUPPORT => report.gprs_support = true,
                OUTCOME_INDICATOR => report.of_sgsn = true,
                ADDITIONAL_OUTCOME => {
                    outcome = SmDeliveryOutcome::of(small(&element, "the outcome")?);
                }
                ADDITIONAL_DIAGNOSTIC => diagnostic = Some(small(&element, "the diagnostic")?),
                _ => {}
            }
        }
        report.additional = outcome.map(|outcome| (outcome, diagnostic));
        Ok(report)
    }

    /// Writes it as one version has it.
    ///
    /// # Errors
    /// [`UnwritableMap`]: a number that is none.
    pub fn encode(&self, version: MapVersion) -> Result<Bytes, UnwritableMap> {
        let mut out = Vec::with_capacity(48);
        write_two_addresses(&mut out, &self.msisdn, &self.service_centre)?;
        let outcome = self.outcome.filter(|_| version >= MapVersion::V2);
        write_small(&mut out, ENUMERATED, outcome.map(SmDeliveryOutcome::value));
        if version >= MapVersion::V3 {
            write_small(&mut out, DIAGNOSTIC, self.diagnostic);
            write_flag(&mut out, GPRS_SUPPORT, self.gprs_support);
            write_flag(&mut out, OUTCOME_INDICATOR, self.of_sgsn);
            if let Some((outcome, diagnostic)) = self.additional {
                write_small(&mut out, ADDITIONAL_OUTCOME, Some(outcome.value()));
                write_small(&mut out, ADDITIONAL_DIAGNOSTIC, diagnostic);
            }
        }
        Ok(sequence_of(&out))
    }
}

// === impl ReportDeliveryStatusResult ===

impl ReportDeliveryStatusResult {
    /// Reads a result of any version: it may be nothing, a number, or a sequence with one.
    ///
    /// # Errors
    /// [`MalformedMap`].
    pub fn decode(parameter: &[u8]) -> Result<Self, MalformedMap> {
        if parameter.is_empty() {
            return Ok(Self::default());
        }
        let element = ber::only(parameter)?;
        let number = match element.tag {
            ber::SEQUENCE => BerElements::of(element.content)
                .next_if(ber::OCTET_STRING)?
                .map(|element| address(&element, "the stored MSISDN")),
            ber::OCTET_STRING => Some(address(&element, "the stored MSISDN")),
            _ => None,
        };
        let stored_msisdn = number.transpose()?;
        Ok(Self { stored_msisdn })
    }

    /// Writes it as one version has it; without a number it is nothing.
    ///
    /// # Errors
    /// [`UnwritableMap`].
    pub fn encode(&self, version: MapVersion) -> Result<Bytes, UnwritableMap> {
        let Some(number) = &self.stored_msisdn else {
            return Ok(Bytes::new());
        };
        let mut out = Vec::with_capacity(12);
        write_isdn_address(&mut out, ber::OCTET_STRING, number, "the stored MSISDN")?;
        if version >= MapVersion::V3 {
            return Ok(sequence_of(&out));
        }
        Ok(out.into())
    }
}

// === impl AlertServiceCentreArg ===

impl AlertServiceCentreArg {
    /// Reads an argument of any version.
    ///
    /// # Errors
    /// [`MalformedMap`].
    pub fn decode(parameter: &[u8]) -> Result<Self, MalformedMap> {
        let (msisdn, service_centre) = two_addresses(&mut sequence(parameter)?)?;
        Ok(Self {
            msisdn,
            service_centre,
        })
    }

    /// Writes it; it is the same in all versions.
    ///
    /// # Errors
    /// [`UnwritableMap`]: a number that is none.
    pub fn encode(&self) -> Result<Bytes, UnwritableMap> {
        let mut out = Vec::with_capacity(32);
        write_two_addresses(&mut out, &self.msisdn, &self.service_centre)?;
        Ok(sequence_of(&out))
    }
}

// === impl MessageWaitingStatus ===

impl MessageWaitingStatus {
    const NOT_INCLUDED: u8 = 0x80;
    const NOT_REACHABLE: u8 = 0x40;
    const MEMORY_EXCEEDED: u8 = 0x20;
    const NOT_REACHABLE_GPRS: u8 = 0x10;
    /// Bits behind the sixth are not used.
    const UNUSED: u8 = 2;

    /// Of the octets of a BIT STRING: how many bits are unused, and the bits.
    fn of(content: &[u8]) -> Self {
        let bits = content.get(1).copied().unwrap_or_default();
        Self {
            not_included: bits & Self::NOT_INCLUDED != 0,
            not_reachable: bits & Self::NOT_REACHABLE != 0,
            memory_exceeded: bits & Self::MEMORY_EXCEEDED != 0,
            not_reachable_gprs: bits & Self::NOT_REACHABLE_GPRS != 0,
        }
    }

    fn octets(self) -> [u8; 2] {
        let mut bits = 0;
        for (is_set, bit) in [
            (self.not_included, Self::NOT_INCLUDED),
            (self.not_reachable, Self::NOT_REACHABLE),
            (self.memory_exceeded, Self::MEMORY_EXCEEDED),
            (self.not_reachable_gprs, Self::NOT_REACHABLE_GPRS),
        ] {
            bits |= if is_set { bit } else { 0 };
        }
        [Self::UNUSED, bits]
    }
}

// === impl InformServiceCentreArg ===

impl InformServiceCentreArg {
    /// Reads an argument of version 2 or 3.
    ///
    /// # Errors
    /// [`MalformedMap`].
    pub fn decode(parameter: &[u8]) -> Result<Self, MalformedMap> {
        let mut informed = Self::default();
        for element in sequence(parameter)? {
            let element = element?;
            match element.tag {
                ber::OCTET_STRING => {
                    informed.stored_msisdn = Some(address(&element, "the stored MSISDN")?);
                }
                BIT_STRING => informed.status = Some(MessageWaitingStatus::of(element.content)),
                ber::INTEGER => informed.diagnostic = Some(small(&element, "the diagnostic")?),
                INFORM_ADDITIONAL => {
                    informed.additional_diagnostic = Some(small(&element, "the diagnostic")?);
                }
                _ => {}
            }
        }
        Ok(informed)
    }

    /// Writes it as one version has it.
    ///
    /// # Errors
    /// [`UnwritableMap`].
    pub fn encode(&self, version: MapVersion) -> Result<Bytes, UnwritableMap> {
        let mut out = Vec::with_capacity(24);
        if let Some(number) = &self.stored_msisdn {
            write_isdn_address(&mut out, ber::OCTET_STRING, number, "the stored MSISDN")?;
        }
        if let Some(status) = self.status {
            ber::write(&mut out, BIT_STRING, &status.octets());
        }
        if version >= MapVersion::V3 {
            write_small(&mut out, ber::INTEGER, self.diagnostic);
            write_small(&mut out, INFORM_ADDITIONAL, self.additional_diagnostic);
        }
        Ok(sequence_of(&out))
    }
}

/// The subscriber and the service centre with which reports and alerts begin.
fn two_addresses(
    elements: &mut BerElements<'_>,
) -> Result<(TpduAddress, TpduAddress), MalformedMap> {
    let msisdn = elements.next_if(ber::OCTET_STRING)?;
    let msisdn = address(&required(msisdn, "the MSISDN")?, "the MSISDN")?;
    let what = "the service centre address";
    let service_centre = required(elements.next_if(ber::OCTET_STRING)?, what)?;
    Ok((msisdn, address(&service_centre, what)?))
}

fn write_two_addresses(
    out: &mut Vec<u8>,
    msisdn: &TpduAddress,
    service_centre: &TpduAddress,
) -> Result<(), UnwritableMap> {
    write_isdn_address(out, ber::OCTET_STRING, msisdn, "the MSISDN")?;
    write_address(out, ber::OCTET_STRING, service_centre)
}

#[cfg(test)]
mod tests;
