//! sendRoutingInfoForSM: which node serves a subscriber, and its IMSI. 3GPP TS 29.002 §12.1, §17.7.6.
//!
//! Versions 1 and 2 know of the MSC only; version 3 says which number is that of an SGSN, and may name both.

use bytes::Bytes;
use smsc_sms::tpdu::TpduAddress;
use smsc_tcap::ber::{self, BerElements};

use crate::context::MapVersion;
use crate::parameter::write_address;
use crate::parameter::{
    MalformedMap, UnwritableMap, address, boolean, imsi, required, sequence, sequence_of,
    write_boolean, write_flag, write_imsi, write_isdn_address,
};

/// Tags of RoutingInfoForSM-Arg.
const MSISDN: u32 = 0x80;
const PRIORITY: u32 = 0x81;
const SERVICE_CENTRE: u32 = 0x82;
const GPRS_SUPPORT: u32 = 0x87;
/// Tags of RoutingInfoForSM-Res.
const LOCATION: u32 = 0xA0;
const MWD_SET: u32 = 0x82;
/// Tags of LocationInfoWithLMSI; roamingNumber of version 1 is passed over.
const NODE_NUMBER: u32 = 0x81;
const GPRS_NODE: u32 = 0x85;
const ADDITIONAL: u32 = 0xA6;
/// Tags of Additional-Number.
const MSC_NUMBER: u32 = 0x80;
const SGSN_NUMBER: u32 = 0x81;
/// Octets of an LMSI.
const LMSI: usize = 4;

/// What kind of node serves a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServingNode {
    /// Circuit-switched.
    Msc,
    /// Packet-switched.
    Sgsn,
}

/// A node and its number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServingAddress {
    /// Which kind.
    pub node: ServingNode,
    /// Its E.164 number.
    pub number: TpduAddress,
}

/// The argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingInfoArg {
    /// The subscriber.
    pub msisdn: TpduAddress,
    /// sm-RP-PRI: an HLR answers although the subscriber is known to be away.
    pub priority: bool,
    /// Whom to alert.
    pub service_centre: TpduAddress,
    /// Numbers of SGSNs are understood; only in version 3.
    pub gprs_support: bool,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingInfoResult {
    /// The subscriber, in digits.
    pub imsi: String,
    /// Where it is. `None` where version 1 gives a roaming number.
    pub node: Option<ServingAddress>,
    /// What the VLR calls the subscriber; four octets.
    pub lmsi: Option<Bytes>,
    /// Where else it is; only in version 3.
    pub additional: Option<ServingAddress>,
    /// The service centre is in the list of those to be alerted; only in version 1.
    pub waiting_set: Option<bool>,
}

// === impl RoutingInfoArg ===

impl RoutingInfoArg {
    /// Reads an argument of any version.
    ///
    /// # Errors
    /// [`MalformedMap`].
    pub fn decode(parameter: &[u8]) -> Result<Self, MalformedMap> {
        let (mut msisdn, mut service_centre) = (None, None);
        let (mut priority, mut gprs_support) = (None, false);
        for element in sequence(parameter)? {
            let element = element?;
            match element.tag {
                MSISDN => msisdn = Some(address(&element, "the MSISDN")?),
                PRIORITY => priority = Some(boolean(&element)),
                SERVICE_CENTRE => {
                    service_centre = Some(address(&element, "the service centre address")?);
                }
                GPRS_SUPPORT => gprs_support = true,
                _ => {}
            }
        }
        Ok(Self {
            msisdn: required(msisdn, "the MSISDN")?,
            priority: required(priority, "SM-RP-PRI")?,
            service_centre: required(service_centre, "the service centre address")?,
            gprs_support,
        })
    }

    /// Writes it as one version has it.
    ///
    /// # Errors
    /// [`UnwritableMap`]: a number that is none.
    pub fn encode(&self, version: MapVersion) -> Result<Bytes, UnwritableMap> {
        let mut out = Vec::with_capacity(32);
        write_isdn_address(&mut out, MSISDN, &self.msisdn, "the MSISDN")?;
        write_boolean(&mut out, PRIORITY, self.priority);
        write_address(&mut out, SERVICE_CENTRE, &self.service_centre)?;
        let gprs_support = self.gprs_support && version >= MapVersion::V3;
        write_flag(&mut out, GPRS_SUPPORT, gprs_support);
        Ok(sequence_of(&out))
    }
}

// === impl RoutingInfoResult ===

impl RoutingInfoResult {
    /// Reads a result of any version.
    ///
    /// # Errors
    /// [`MalformedMap`].
    pub fn decode(parameter: &[u8]) -> Result<Self, MalformedMap> {
        let (mut subscriber, mut location, mut waiting_set) = (None, None, None);
        for element in sequence(parameter)? {
            let element = element?;
            match element.tag {
                ber::OCTET_STRING if subscriber.is_none() => subscriber = Some(imsi(&element)?),
                LOCATION => location = Some(LocationInfo::decode(element.content)?),
                MWD_SET => waiting_set = Some(boolean(&element)),
                _ => {}
            }
        }
        let location = required(location, "the location")?;
        Ok(Self {
            imsi: required(subscriber, "the IMSI")?,
            node: location.node,
            lmsi: location.lmsi,
            additional: location.additional,
            waiting_set,
        })
    }

    /// Writes it as one version has it: earlier ones than 3 have no SGSN, and no second node.
    ///
    /// # Errors
    /// [`UnwritableMap`].
    pub fn encode(&self, version: MapVersion) -> Result<Bytes, UnwritableMap> {
        let is_v3 = version >= MapVersion::V3;
        let mut location = Vec::with_capacity(32);
        if let Some(node) = &self.node {
            write_isdn_address(&mut location, NODE_NUMBER, &node.number, "a node's number")?;
        }
        if let Some(lmsi) = &self.lmsi {
            if lmsi.len() != LMSI {
                return Err(UnwritableMap::Long("the LMSI"));
            }
            ber::write(&mut location, ber::OCTET_STRING, lmsi);
        }
        let is_sgsn = self
            .node
            .as_ref()
            .is_some_and(|node| node.node == ServingNode::Sgsn);
        write_flag(&mut location, GPRS_NODE, is_v3 && is_sgsn);
        if let Some(additional) = self.additional.as_ref().filter(|_| is_v3) {
            let tag = match additional.node {
                ServingNode::Msc => MSC_NUMBER,
                ServingNode::Sgsn => SGSN_NUMBER,
            };
            let mut number = Vec::with_capacity(12);
            write_isdn_address(&mut number, tag, &additional.number, "a node's number")?;
            ber::write(&mut location, ADDITIONAL, &number);
        }
        let mut out = Vec::with_capacity(64);
        write_imsi(&mut out, ber::OCTET_STRING, &self.imsi)?;
        ber::write(&mut out, LOCATION, &location);
        if let Some(waiting_set) = self.waiting_set.filter(|_| version == MapVersion::V1) {
            write_boolean(&mut out, MWD_SET, waiting_set);
        }
        Ok(sequence_of(&out))
    }

    /// The number of a kind of node, if the result has one.
    #[must_use]
    pub fn number_of(&self, kind: ServingNode) -> Option<&TpduAddress> {
        let mut both = self.node.iter().chain(&self.additional);
        both.find(|node| node.node == kind).map(|node| &node.number)
    }
}

/// LocationInfoWithLMSI.
struct LocationInfo {
    node: Option<ServingAddress>,
    lmsi: Option<Bytes>,
    additional: Option<ServingAddress>,
}

// === impl LocationInfo ===

impl LocationInfo {
    fn decode(content: &[u8]) -> Result<Self, MalformedMap> {
        let (mut number, mut lmsi, mut additional) = (None, None, None);
        let mut kind = ServingNode::Msc;
        for element in BerElements::of(content) {
            let element = element?;
            match element.tag {
                NODE_NUMBER => number = Some(address(&element, "a node's number")?),
                ber::OCTET_STRING if element.content.len() == LMSI => {
                    lmsi = Some(Bytes::copy_from_slice(element.content));
                }
                GPRS_NODE => kind = ServingNode::Sgsn,
                ADDITIONAL => additional = additional_number(element.content)?,
                _ => {}
            }
        }
        let node = number.map(|number| ServingAddress { node: kind, number });
        Ok(Self {
            node,
            lmsi,
            additional,
        })
    }
}

/// Additional-Number; `None` for a kind of node that is not known.
fn additional_number(content: &[u8]) -> Result<Option<ServingAddress>, MalformedMap> {
    let Some(element) = BerElements::of(content).next().transpose()? else {
        return Err(MalformedMap::Field("the additional number"));
    };
    let node = match element.tag {
        MSC_NUMBER => ServingNode::Msc,
        SGSN_NUMBER => ServingNode::Sgsn,
        _ => return Ok(None),
    };
    let number = address(&element, "the additional number")?;
    Ok(Some(ServingAddress { node, number }))
}

#[cfg(test)]
mod tests;
