//! What a BSC and a phone tell the MSC: BSSMAP between BSC and MSC (3GPP TS 48.008), and within DTAP the
//! messages of the phone: mobility (24.008 §9.2), radio resources (44.018) and short messages (24.011 §7.2).

/// Discrimination of BSSMAP and DTAP (48.006 §9.3).
const BSSMAP: u8 = 0;
const DTAP: u8 = 1;

/// BSSMAP messages (48.008 §3.2.2.1).
const CLEAR_COMMAND: u8 = 0x20;
const CLEAR_COMPLETE: u8 = 0x21;
const RESET: u8 = 0x30;
const RESET_ACKNOWLEDGE: u8 = 0x31;
const PAGING: u8 = 0x52;
const COMPLETE_LAYER_3: u8 = 0x57;

/// BSSMAP elements (48.008 §3.2.2).
const CAUSE: u8 = 0x04;
const CELL: u8 = 0x05;
const IMSI: u8 = 0x08;
const LAYER_3: u8 = 0x17;

/// Where all phones are: PLMN 001-01, location area 1, cell 1.
const PLMN: [u8; 3] = [0x00, 0xF1, 0x10];
const AREA: [u8; 2] = [0, 1];

/// Protocol discriminators (24.007 §11.2.3.1.1).
const MOBILITY: u8 = 5;
const RADIO: u8 = 6;
const SHORT_MESSAGES: u8 = 9;
/// SAPI 3 carries short messages.
const SAPI_SHORT_MESSAGES: u8 = 3;

/// Mobility messages (24.008 table 9.2.1).
const IMSI_DETACH: u8 = 0x01;
const LOCATION_ACCEPT: u8 = 0x02;
const LOCATION_REJECT: u8 = 0x04;
const LOCATION_REQUEST: u8 = 0x08;
const IDENTITY_REQUEST: u8 = 0x18;
const IDENTITY_RESPONSE: u8 = 0x19;
const SERVICE_ACCEPT: u8 = 0x21;
const SERVICE_REJECT: u8 = 0x22;
const SERVICE_REQUEST: u8 = 0x24;
/// The radio message that answers paging (44.018 §9.1.25).
const PAGING_RESPONSE: u8 = 0x27;

/// No ciphering key, in the upper and lower half of an octet (24.008 §10.5.1.2).
const NO_KEY_UPPER: u8 = 0x70;
const NO_KEY: u8 = 0x07;
/// Location updating at power on (24.008 §10.5.3.5); a service of short messages (§10.5.3.3).
const ATTACH: u8 = 0x02;
const SERVICE_SHORT_MESSAGES: u8 = 0x04;
/// Mobile station classmarks 1 and 2 of a GSM phone with A5/1 (24.008 §10.5.1.5, §10.5.1.6).
const CLASSMARK_1: u8 = 0x30;
const CLASSMARK_2: [u8; 4] = [3, 0x30, 0x18, 0x86];

/// CP messages (24.011 §8.1.3).
const CP_DATA: u8 = 0x01;
const CP_ACK: u8 = 0x04;
const CP_ERROR: u8 = 0x10;
/// The flag of a transaction that the other end began (24.007 §11.2.3.1.3).
const FROM_OTHER: u8 = 0x80;

/// What the MSC tells the BSC or a phone.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FromMsc {
    /// RESET: is to be acknowledged.
    Reset,
    /// RESET ACKNOWLEDGE.
    ResetAcknowledged,
    /// PAGING of this IMSI.
    Paging(String),
    /// CLEAR COMMAND: the connection is over.
    Clear,
    /// LOCATION UPDATING ACCEPT.
    LocationAccepted,
    /// LOCATION UPDATING REJECT, with its cause.
    LocationRejected(u8),
    /// IDENTITY REQUEST.
    WhoAreYou,
    /// CM SERVICE ACCEPT.
    ServiceAccepted,
    /// CM SERVICE REJECT, with its cause.
    ServiceRejected(u8),
    /// CP-DATA: the first octet, which names the transaction, and the RP message.
    CpData(u8, Vec<u8>),
    /// CP-ERROR, with its cause.
    CpError(u8),
    /// Anything else.
    Other,
}

/// RESET, for equipment that was started (48.008 §3.2.1.23).
pub(super) fn reset() -> Vec<u8> {
    bssmap(&[RESET, CAUSE, 1, 0x20])
}

/// RESET ACKNOWLEDGE.
pub(super) fn reset_acknowledge() -> Vec<u8> {
    bssmap(&[RESET_ACKNOWLEDGE])
}

/// CLEAR COMPLETE.
pub(super) fn clear_complete() -> Vec<u8> {
    bssmap(&[CLEAR_COMPLETE])
}

/// LOCATION UPDATING REQUEST, as the first message of a connection.
pub(super) fn location_request(imsi: &str) -> Vec<u8> {
    let head = [MOBILITY, LOCATION_REQUEST, NO_KEY_UPPER | ATTACH];
    first([&head[..], &PLMN, &AREA, &[CLASSMARK_1], &identity(imsi)].concat())
}

/// IMSI DETACH INDICATION, as the first message of a connection.
pub(super) fn detach(imsi: &str) -> Vec<u8> {
    first([&[MOBILITY, IMSI_DETACH, CLASSMARK_1][..], &identity(imsi)].concat())
}

/// CM SERVICE REQUEST for short messages, as the first message of a connection.
pub(super) fn service_request(imsi: &str) -> Vec<u8> {
    let service = NO_KEY_UPPER | SERVICE_SHORT_MESSAGES;
    let head = [MOBILITY, SERVICE_REQUEST, service];
    first([&head[..], &CLASSMARK_2, &identity(imsi)].concat())
}

/// PAGING RESPONSE, as the first message of a connection.
pub(super) fn paging_response(imsi: &str) -> Vec<u8> {
    let head = [RADIO, PAGING_RESPONSE, NO_KEY];
    first([&head[..], &CLASSMARK_2, &identity(imsi)].concat())
}

/// IDENTITY RESPONSE.
pub(super) fn identity_response(imsi: &str) -> Vec<u8> {
    dtap(
        0,
        &[&[MOBILITY, IDENTITY_RESPONSE][..], &identity(imsi)].concat(),
    )
}

/// CP-DATA of a transaction: `first` is as it came in [`FromMsc::CpData`], or [`own_transaction`].
pub(super) fn cp_data(first: u8, rp: &[u8]) -> Vec<u8> {
    let head = [first, CP_DATA, rp.len() as u8];
    dtap(SAPI_SHORT_MESSAGES, &[&head[..], rp].concat())
}

/// CP-ACK of a transaction.
pub(super) fn cp_ack(first: u8) -> Vec<u8> {
    dtap(SAPI_SHORT_MESSAGES, &[first, CP_ACK])
}

/// The first octet of a transaction that the phone begins.
pub(super) fn own_transaction(number: u8) -> u8 {
    (number % 7) << 4 | SHORT_MESSAGES
}

/// Reads what an SCCP message carried.
pub(super) fn decode(message: &[u8]) -> FromMsc {
    match message {
        [BSSMAP, length, rest @ ..] => of_bssmap(&rest[..usize::from(*length).min(rest.len())]),
        [DTAP, _, length, rest @ ..] => of_dtap(&rest[..usize::from(*length).min(rest.len())]),
        _ => FromMsc::Other,
    }
}

fn of_bssmap(message: &[u8]) -> FromMsc {
    match message {
        [RESET, ..] => FromMsc::Reset,
        [RESET_ACKNOWLEDGE, ..] => FromMsc::ResetAcknowledged,
        [CLEAR_COMMAND, ..] => FromMsc::Clear,
        [PAGING, IMSI, length, rest @ ..] => {
            FromMsc::Paging(imsi_of(&rest[..usize::from(*length).min(rest.len())]))
        }
        _ => FromMsc::Other,
    }
}

fn of_dtap(message: &[u8]) -> FromMsc {
    let [first, kind, rest @ ..] = message else {
        return FromMsc::Other;
    };
    let cause = rest.first().copied().unwrap_or_default();
    match (first & 0x0F, *kind) {
        (MOBILITY, LOCATION_ACCEPT) => FromMsc::LocationAccepted,
        (MOBILITY, LOCATION_REJECT) => FromMsc::LocationRejected(cause),
        (MOBILITY, IDENTITY_REQUEST) => FromMsc::WhoAreYou,
        (MOBILITY, SERVICE_ACCEPT) => FromMsc::ServiceAccepted,
        (MOBILITY, SERVICE_REJECT) => FromMsc::ServiceRejected(cause),
        (SHORT_MESSAGES, CP_DATA) => {
            let rp = rest.get(1..=usize::from(cause)).unwrap_or_default();
            FromMsc::CpData(first ^ FROM_OTHER, rp.to_vec())
        }
        (SHORT_MESSAGES, CP_ERROR) => FromMsc::CpError(cause),
        _ => FromMsc::Other,
    }
}

fn bssmap(message: &[u8]) -> Vec<u8> {
    [&[BSSMAP, message.len() as u8][..], message].concat()
}

fn dtap(sapi: u8, message: &[u8]) -> Vec<u8> {
    [&[DTAP, sapi, message.len() as u8][..], message].concat()
}

/// COMPLETE LAYER 3 INFORMATION: the cell, and the first message of the phone.
fn first(message: Vec<u8>) -> Vec<u8> {
    let mut out = vec![COMPLETE_LAYER_3, CELL, 8, 0];
    out.extend(PLMN);
    out.extend(AREA);
    out.extend([0, 1]);
    out.extend([LAYER_3, message.len() as u8]);
    out.extend(message);
    bssmap(&out)
}

/// Length and value of a mobile identity (24.008 §10.5.1.4): an IMSI of 15 digits.
fn identity(imsi: &str) -> Vec<u8> {
    let digits: Vec<u8> = imsi.bytes().map(|digit| digit - b'0').collect();
    assert_eq!(digits.len(), 15, "an IMSI of 15 digits: {imsi}");
    let mut out = vec![8, digits[0] << 4 | 0x09];
    out.extend(digits[1..].chunks(2).map(|pair| pair[1] << 4 | pair[0]));
    out
}

/// The digits of a mobile identity with an odd number of them.
fn imsi_of(value: &[u8]) -> String {
    let halves = value.iter().flat_map(|octet| [octet & 0x0F, octet >> 4]);
    let digits = halves.skip(1).filter(|half| *half < 10);
    digits.map(|digit| char::from(b'0' + digit)).collect()
}
