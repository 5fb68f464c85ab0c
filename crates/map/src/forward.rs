//! mt-ForwardSM, mo-ForwardSM and forwardSM: a TPDU to a handset or from one. 3GPP TS 29.002 §12.2, §12.9, §17.7.6.
//!
//! All three begin alike, so one type has them: destination, originator, TPDU. What follows is told by its tag.

use bytes::Bytes;
use smsc_sms::tpdu::TpduAddress;
use smsc_tcap::ber::{self, BerElement, BerElements};

use crate::context::MapVersion;
use crate::parameter::{
    MalformedMap, UnwritableMap, address, imsi, required, sequence, sequence_of, signal_info,
    write_address, write_flag, write_imsi, write_isdn_address, write_signal_info,
};

/// Tags of SM-RP-DA.
const DA_IMSI: u32 = 0x80;
const DA_LMSI: u32 = 0x81;
const DA_ROAMING_NUMBER: u32 = 0x83;
const SERVICE_CENTRE: u32 = 0x84;
const NONE: u32 = 0x85;
/// Tags of SM-RP-OA.
const OA_MSISDN: u32 = 0x82;

/// SM-RP-DA: whom a message is for (§7.6.8.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmRpDa {
    /// A subscriber by IMSI.
    Imsi(String),
    /// A subscriber by what its VLR calls it.
    Lmsi(Bytes),
    /// A subscriber by a roaming number; only in version 1.
    RoamingNumber(TpduAddress),
    /// A service centre.
    ServiceCentre(TpduAddress),
    /// Nobody: of the messages of one dialogue, all but the first.
    Absent,
}

/// SM-RP-OA: whom a message is from (§7.6.8.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmRpOa {
    /// A subscriber by number.
    Msisdn(TpduAddress),
    /// A service centre.
    ServiceCentre(TpduAddress),
    /// Nobody, as in [`SmRpDa::Absent`].
    Absent,
}

/// The argument of all three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardSmArg {
    /// SM-RP-DA.
    pub destination: SmRpDa,
    /// SM-RP-OA.
    pub originator: SmRpOa,
    /// SM-RP-UI: a TPDU.
    pub tpdu: Bytes,
    /// moreMessagesToSend; to a handset, since version 2.
    pub more: bool,
    /// The IMSI of the sender; from a handset, in version 3.
    pub imsi: Option<String>,
}

/// The result of all three; only that of version 3 holds anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForwardSmResult {
    /// SM-RP-UI: the report of the handset or of the service centre.
    pub tpdu: Option<Bytes>,
}

// === impl SmRpDa ===

impl SmRpDa {
    fn decode(element: &BerElement<'_>) -> Result<Option<Self>, MalformedMap> {
        Ok(Some(match element.tag {
            DA_IMSI => Self::Imsi(imsi(element)?),
            DA_LMSI => Self::Lmsi(Bytes::copy_from_slice(element.content)),
            DA_ROAMING_NUMBER => Self::RoamingNumber(address(element, "SM-RP-DA")?),
            SERVICE_CENTRE => Self::ServiceCentre(address(element, "SM-RP-DA")?),
            NONE => Self::Absent,
            _ => return Ok(None),
        }))
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), UnwritableMap> {
        match self {
            Self::Imsi(imsi) => write_imsi(out, DA_IMSI, imsi)?,
            Self::Lmsi(lmsi) if lmsi.len() != 4 => return Err(UnwritableMap::Long("the LMSI")),
            Self::Lmsi(lmsi) => ber::write(out, DA_LMSI, lmsi),
            Self::RoamingNumber(number) => {
                write_isdn_address(out, DA_ROAMING_NUMBER, number, "SM-RP-DA")?;
            }
            Self::ServiceCentre(number) => write_address(out, SERVICE_CENTRE, number)?,
            Self::Absent => ber::write(out, NONE, &[]),
        }
        Ok(())
    }
}

// === impl SmRpOa ===

impl SmRpOa {
    fn decode(element: &BerElement<'_>) -> Result<Option<Self>, MalformedMap> {
        Ok(Some(match element.tag {
            OA_MSISDN => Self::Msisdn(address(element, "SM-RP-OA")?),
            SERVICE_CENTRE => Self::ServiceCentre(address(element, "SM-RP-OA")?),
            NONE => Self::Absent,
            _ => return Ok(None),
        }))
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), UnwritableMap> {
        match self {
            Self::Msisdn(number) => write_isdn_address(out, OA_MSISDN, number, "SM-RP-OA")?,
            Self::ServiceCentre(number) => write_address(out, SERVICE_CENTRE, number)?,
            Self::Absent => ber::write(out, NONE, &[]),
        }
        Ok(())
    }
}

// === impl ForwardSmArg ===

impl ForwardSmArg {
    /// Reads an argument of any version and direction.
    ///
    /// # Errors
    /// [`MalformedMap`].
    pub fn decode(parameter: &[u8]) -> Result<Self, MalformedMap> {
        let mut elements = sequence(parameter)?;
        let mut next = |what| required(elements.next().transpose()?, what);
        let destination = SmRpDa::decode(&next("SM-RP-DA")?)?;
        let originator = SmRpOa::decode(&next("SM-RP-OA")?)?;
        let user_information = next("SM-RP-UI")?;
        if user_information.tag != ber::OCTET_STRING {
            return Err(MalformedMap::Missing("SM-RP-UI"));
        }
        let (mut more, mut sender) = (false, None);
        for element in elements {
            let element = element?;
            match element.tag {
                ber::NULL => more = true,
                ber::OCTET_STRING if sender.is_none() => sender = imsi(&element).ok(),
                _ => {}
            }
        }
        Ok(Self {
            destination: required(destination, "SM-RP-DA")?,
            originator: required(originator, "SM-RP-OA")?,
            tpdu: signal_info(&user_information)?,
            more,
            imsi: sender,
        })
    }

    /// Writes it as one version has it.
    ///
    /// # Errors
    /// [`UnwritableMap`].
    pub fn encode(&self, version: MapVersion) -> Result<Bytes, UnwritableMap> {
        let mut out = Vec::with_capacity(self.tpdu.len() + 48);
        self.destination.write(&mut out)?;
        self.originator.write(&mut out)?;
        write_signal_info(&mut out, ber::OCTET_STRING, &self.tpdu)?;
        write_flag(&mut out, ber::NULL, self.more && version >= MapVersion::V2);
        if let Some(imsi) = self.imsi.as_ref().filter(|_| version >= MapVersion::V3) {
            write_imsi(&mut out, ber::OCTET_STRING, imsi)?;
        }
        Ok(sequence_of(&out))
    }
}

// === impl ForwardSmResult ===

impl ForwardSmResult {
    /// Reads a result of any version: of those before 3 it is empty.
    ///
    /// # Errors
    /// [`MalformedMap`].
    pub fn decode(parameter: &[u8]) -> Result<Self, MalformedMap> {
        if parameter.is_empty() {
            return Ok(Self::default());
        }
        let element = ber::only(parameter)?;
        if element.tag != ber::SEQUENCE {
            // Whatever an early version answers, the message has arrived.
            return Ok(Self::default());
        }
        let mut tpdu = None;
        for element in BerElements::of(element.content) {
            let element = element?;
            if element.tag == ber::OCTET_STRING && tpdu.is_none() {
                tpdu = Some(signal_info(&element)?);
            }
        }
        Ok(Self { tpdu })
    }

    /// Writes it as one version has it; without a report it is nothing at all.
    ///
    /// # Errors
    /// [`UnwritableMap`].
    pub fn encode(&self, version: MapVersion) -> Result<Bytes, UnwritableMap> {
        let Some(tpdu) = self.tpdu.as_ref().filter(|_| version >= MapVersion::V3) else {
            return Ok(Bytes::new());
        };
        let mut out = Vec::with_capacity(tpdu.len() + 4);
        write_signal_info(&mut out, ber::OCTET_STRING, tpdu)?;
        Ok(sequence_of(&out))
    }
}

#[cfg(test)]
mod tests;
