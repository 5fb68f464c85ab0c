//! SCCP (ITU-T Q.713): messages without a connection (UDT), which carry resets and paging, and connections
//! with their data (CR, CC, DT1, RLSD, RLC), one for each thing that a phone does.

/// Reference of one end of a connection.
pub(super) type Reference = [u8; 3];

/// Message types (Q.713 §2.1).
const CONNECTION_REQUEST: u8 = 0x01;
const CONNECTION_CONFIRM: u8 = 0x02;
const CONNECTION_REFUSED: u8 = 0x03;
const RELEASED: u8 = 0x04;
const RELEASE_COMPLETE: u8 = 0x05;
const DATA_FORM_1: u8 = 0x06;
const UNITDATA: u8 = 0x09;

/// Optional parameters (Q.713 §3.1).
const END: u8 = 0x00;
const CALLING_PARTY: u8 = 0x04;
const DATA: u8 = 0x0F;

/// An address: routing by subsystem number, point code and subsystem number given (Q.713 §3.4).
const BY_POINT_CODE: u8 = 0x43;
/// Subsystem number of BSSAP (3GPP TS 48.006).
const BSSAP: u8 = 254;

/// A message that came.
#[derive(Debug)]
pub(super) enum Sccp {
    /// UDT.
    Unitdata(Vec<u8>),
    /// CC: to our reference, from theirs, with data or without.
    Confirm(Reference, Reference, Option<Vec<u8>>),
    /// CREF: to our reference.
    Refused(Reference),
    /// RLSD: to our reference, from theirs.
    Released(Reference, Reference),
    /// DT1: to our reference.
    Data(Reference, Vec<u8>),
    /// Anything else.
    Other,
}

/// UDT from the BSC to the MSC.
pub(super) fn unitdata(from: u32, to: u32, data: &[u8]) -> Vec<u8> {
    let (called, calling) = (address(to), address(from));
    // Each pointer counts from itself.
    let mut out = vec![UNITDATA, 0, 3];
    out.push((2 + called.len()) as u8);
    out.push((1 + called.len() + calling.len()) as u8);
    out.extend(called);
    out.extend(calling);
    out.push(data.len() as u8);
    out.extend(data);
    out
}

/// CR from the BSC to the MSC, class 2.
pub(super) fn connection_request(reference: Reference, from: u32, to: u32, data: &[u8]) -> Vec<u8> {
    let (called, calling) = (address(to), address(from));
    let mut out = vec![CONNECTION_REQUEST];
    out.extend(reference);
    out.extend([2, 2, (1 + called.len()) as u8]);
    out.extend(called);
    out.push(CALLING_PARTY);
    out.extend(calling);
    out.extend([DATA, data.len() as u8]);
    out.extend(data);
    out.push(END);
    out
}

/// DT1, the last of its data.
pub(super) fn data(to: Reference, data: &[u8]) -> Vec<u8> {
    let mut out = vec![DATA_FORM_1];
    out.extend(to);
    out.extend([0, 1, data.len() as u8]);
    out.extend(data);
    out
}

/// RLC.
pub(super) fn release_complete(to: Reference, from: Reference) -> Vec<u8> {
    [&[RELEASE_COMPLETE][..], &to, &from].concat()
}

/// Reads a message.
pub(super) fn decode(message: &[u8]) -> Sccp {
    decoded(message).unwrap_or_else(|| panic!("no SCCP: {message:02x?}"))
}

fn decoded(message: &[u8]) -> Option<Sccp> {
    let (kind, rest) = message.split_first()?;
    let reference = |at: usize| Some(*rest.get(at..)?.first_chunk::<3>()?);
    Some(match *kind {
        UNITDATA => {
            // Class, and pointers to called party, calling party and data.
            let at = 3 + usize::from(*rest.get(3)?);
            Sccp::Unitdata(with_length(rest.get(at..)?)?.to_vec())
        }
        CONNECTION_CONFIRM => Sccp::Confirm(reference(0)?, reference(3)?, optional(rest, 7)),
        CONNECTION_REFUSED => Sccp::Refused(reference(0)?),
        RELEASED => Sccp::Released(reference(0)?, reference(3)?),
        DATA_FORM_1 => {
            let at = 4 + usize::from(*rest.get(4)?);
            Sccp::Data(reference(0)?, with_length(rest.get(at..)?)?.to_vec())
        }
        _ => Sccp::Other,
    })
}

/// The data among the optional parameters that the octet at `pointer` leads to.
fn optional(message: &[u8], pointer: usize) -> Option<Vec<u8>> {
    let distance = usize::from(*message.get(pointer)?);
    let mut rest = message.get(pointer + distance..)?;
    if distance == 0 {
        return None;
    }
    while let [tag, more @ ..] = rest {
        if *tag == END {
            return None;
        }
        let value = with_length(more)?;
        if *tag == DATA {
            return Some(value.to_vec());
        }
        rest = &more[1 + value.len()..];
    }
    None
}

fn with_length(octets: &[u8]) -> Option<&[u8]> {
    let (length, rest) = octets.split_first()?;
    rest.get(..usize::from(*length))
}

/// Length, indicator, point code, subsystem number.
fn address(point_code: u32) -> Vec<u8> {
    let [low, high, ..] = point_code.to_le_bytes();
    vec![4, BY_POINT_CODE, low, high, BSSAP]
}
