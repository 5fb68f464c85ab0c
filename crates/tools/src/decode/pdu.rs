//! Walks a PDU by tables of its fields (SMPP 3.4 §4, 5.0 §4), as far as the octets go.
//!
//! The codec of `smpp` reads what it needs and refuses the rest with one status; here every field is
//! kept with its place, and what follows an error is still read where that makes sense. The tables
//! name the same fields in the same order as `smpp/pdu/`; a test compares them.

use bytes::Bytes;

use super::bits::OctetMeaning::{self, *};
use super::reader::{PduReader, Stop};
use super::report::DecodeReport;
use super::{receipts, text, tlvs};
use smsc_smpp::codec::{Decoded, decode};
use smsc_smpp::{Body, CommandId, CommandStatus, ESM_UDHI, HEADER_LEN, Leniency};

/// How a field is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    /// One octet.
    Octet(OctetMeaning),
    /// A C-octet string of at most so many octets, its NUL included.
    CString(usize),
    /// A C-octet string with a time (§7.1.1).
    Time,
    /// sm_length and what it counts.
    ShortMessage,
    /// number_of_dests and the addresses it counts.
    Destinations,
    /// no_unsuccess and what it counts.
    Failures,
    /// Optional parameters to the end.
    Tlvs,
}

use FieldKind::{CString, Destinations, Failures, Octet, ShortMessage, Time, Tlvs};

/// A line of a table.
type FieldRow = (&'static str, FieldKind);

const SERVICE_TYPE: FieldRow = ("service_type", CString(6));
const SOURCE_TON: FieldRow = ("source_addr_ton", Octet(Ton));
const SOURCE_NPI: FieldRow = ("source_addr_npi", Octet(Npi));
const SOURCE: FieldRow = ("source_addr", CString(21));
const LONG_SOURCE: FieldRow = ("source_addr", CString(65));
const DEST_TON: FieldRow = ("dest_addr_ton", Octet(Ton));
const DEST_NPI: FieldRow = ("dest_addr_npi", Octet(Npi));
const DEST: FieldRow = ("destination_addr", CString(21));
const LONG_DEST: FieldRow = ("destination_addr", CString(65));
const ESM_CLASS: FieldRow = ("esm_class", Octet(EsmClass));
const PROTOCOL: FieldRow = ("protocol_id", Octet(ProtocolId));
const PRIORITY: FieldRow = ("priority_flag", Octet(Priority));
const SCHEDULE: FieldRow = ("schedule_delivery_time", Time);
const VALIDITY: FieldRow = ("validity_period", Time);
const REGISTERED: FieldRow = ("registered_delivery", Octet(RegisteredDelivery));
const REPLACE: FieldRow = ("replace_if_present_flag", Octet(Replace));
const CODING: FieldRow = ("data_coding", Octet(DataCoding));
const DEFAULT_ID: FieldRow = ("sm_default_msg_id", Octet(Number));
const MESSAGE: FieldRow = ("short_message", ShortMessage);
const MESSAGE_ID: FieldRow = ("message_id", CString(65));
const SYSTEM_ID: FieldRow = ("system_id", CString(16));
const TLVS: FieldRow = ("tlvs", Tlvs);

const BIND: &[FieldRow] = &[
    SYSTEM_ID,
    ("password", CString(9)),
    ("system_type", CString(13)),
    ("interface_version", Octet(InterfaceVersion)),
    ("addr_ton", Octet(Ton)),
    ("addr_npi", Octet(Npi)),
    ("address_range", CString(41)),
];
const BIND_RESP: &[FieldRow] = &[SYSTEM_ID, TLVS];
const OUTBIND: &[FieldRow] = &[SYSTEM_ID, ("password", CString(9))];
#[rustfmt::skip]
const SUBMIT: &[FieldRow] = &[
    SERVICE_TYPE, SOURCE_TON, SOURCE_NPI, SOURCE, DEST_TON, DEST_NPI, DEST, ESM_CLASS, PROTOCOL,
    PRIORITY, SCHEDULE, VALIDITY, REGISTERED, REPLACE, CODING, DEFAULT_ID, MESSAGE, TLVS,
];
#[rustfmt::skip]
const DELIVER: &[FieldRow] = &[
    SERVICE_TYPE, SOURCE_TON, SOURCE_NPI, SOURCE, DEST_TON, DEST_NPI, DEST,
    ("esm_class", Octet(EsmClassDelivered)), PROTOCOL, PRIORITY, SCHEDULE, VALIDITY, REGISTERED,
    REPLACE, CODING, DEFAULT_ID, MESSAGE, TLVS,
];
#[rustfmt::skip]
const SUBMIT_MULTI: &[FieldRow] = &[
    SERVICE_TYPE, SOURCE_TON, SOURCE_NPI, SOURCE, ("dest_address", Destinations), ESM_CLASS,
    PROTOCOL, PRIORITY, SCHEDULE, VALIDITY, REGISTERED, REPLACE, CODING, DEFAULT_ID, MESSAGE, TLVS,
];
const SUBMIT_RESP: &[FieldRow] = &[MESSAGE_ID, TLVS];
const MULTI_RESP: &[FieldRow] = &[MESSAGE_ID, ("unsuccess_sme", Failures), TLVS];
#[rustfmt::skip]
const DATA: &[FieldRow] = &[
    SERVICE_TYPE, SOURCE_TON, SOURCE_NPI, LONG_SOURCE, DEST_TON, DEST_NPI, LONG_DEST, ESM_CLASS,
    REGISTERED, CODING, TLVS,
];
const QUERY: &[FieldRow] = &[MESSAGE_ID, SOURCE_TON, SOURCE_NPI, SOURCE];
const QUERY_RESP: &[FieldRow] = &[
    MESSAGE_ID,
    ("final_date", Time),
    ("message_state", Octet(MessageState)),
    ("error_code", Octet(Number)),
];
#[rustfmt::skip]
const CANCEL: &[FieldRow] = &[
    SERVICE_TYPE, MESSAGE_ID, SOURCE_TON, SOURCE_NPI, SOURCE, DEST_TON, DEST_NPI, DEST,
];
#[rustfmt::skip]
const REPLACE_SM: &[FieldRow] = &[
    MESSAGE_ID, SOURCE_TON, SOURCE_NPI, SOURCE, SCHEDULE, VALIDITY, REGISTERED, DEFAULT_ID, MESSAGE,
    TLVS,
];
#[rustfmt::skip]
const ALERT: &[FieldRow] = &[
    SOURCE_TON, SOURCE_NPI, LONG_SOURCE, ("esme_addr_ton", Octet(Ton)),
    ("esme_addr_npi", Octet(Npi)), ("esme_addr", CString(65)), TLVS,
];
#[rustfmt::skip]
const BROADCAST: &[FieldRow] = &[
    SERVICE_TYPE, SOURCE_TON, SOURCE_NPI, SOURCE, MESSAGE_ID, PRIORITY, SCHEDULE, VALIDITY, REPLACE,
    CODING, DEFAULT_ID, TLVS,
];
const QUERY_BROADCAST: &[FieldRow] = &[MESSAGE_ID, SOURCE_TON, SOURCE_NPI, SOURCE, TLVS];
#[rustfmt::skip]
const CANCEL_BROADCAST: &[FieldRow] = &[
    SERVICE_TYPE, MESSAGE_ID, SOURCE_TON, SOURCE_NPI, SOURCE, TLVS,
];

/// The fields of an operation; `None` for one of neither version.
fn table(command: CommandId) -> Option<&'static [FieldRow]> {
    Some(match command {
        CommandId::BIND_TRANSMITTER | CommandId::BIND_RECEIVER | CommandId::BIND_TRANSCEIVER => {
            BIND
        }
        CommandId::BIND_TRANSMITTER_RESP
        | CommandId::BIND_RECEIVER_RESP
        | CommandId::BIND_TRANSCEIVER_RESP => BIND_RESP,
        CommandId::OUTBIND => OUTBIND,
        CommandId::SUBMIT_SM => SUBMIT,
        CommandId::DELIVER_SM => DELIVER,
        CommandId::SUBMIT_SM_RESP
        | CommandId::DELIVER_SM_RESP
        | CommandId::DATA_SM_RESP
        | CommandId::BROADCAST_SM_RESP
        | CommandId::QUERY_BROADCAST_SM_RESP => SUBMIT_RESP,
        CommandId::DATA_SM => DATA,
        CommandId::SUBMIT_MULTI => SUBMIT_MULTI,
        CommandId::SUBMIT_MULTI_RESP => MULTI_RESP,
        CommandId::QUERY_SM => QUERY,
        CommandId::QUERY_SM_RESP => QUERY_RESP,
        CommandId::CANCEL_SM => CANCEL,
        CommandId::REPLACE_SM => REPLACE_SM,
        CommandId::ALERT_NOTIFICATION => ALERT,
        CommandId::BROADCAST_SM => BROADCAST,
        CommandId::QUERY_BROADCAST_SM => QUERY_BROADCAST,
        CommandId::CANCEL_BROADCAST_SM => CANCEL_BROADCAST,
        known if known.is_known() => &[],
        _ => return None,
    })
}

/// Explains the PDU that starts at octet `at` of what was given, by its command_length or to the end.
pub fn explain(given: &Bytes, at: usize) -> DecodeReport {
    let report = DecodeReport::new("pdu", "part of a PDU", &[], at);
    let mut reader = PduReader::new(given.slice(at..), at, report);
    if let Err(Stop(problem)) = walk(&mut reader) {
        reader.report.problems.push(problem);
        if reader.left() > 0 {
            reader.rest("(not read)");
        }
    }
    reader.report.octets = reader.frame().len();
    reader.report
}

fn walk(reader: &mut PduReader) -> Result<(), Stop> {
    let start = reader.position();
    let given = reader.left();
    let wanted = reader.word("command_length")? as usize;
    if wanted > given {
        let missing = wanted - given;
        let text =
            format!("the PDU is said to have {wanted} octets; {missing} of them are missing");
        reader.problem(start, "command_length", text);
    } else if wanted < HEADER_LEN {
        let text = "a PDU has at least the 16 octets of its header; a receiver ends the session";
        reader.problem(start, "command_length", text);
    } else {
        reader.end_at(wanted);
    }
    let command = CommandId(reader.code("command_id", |id| {
        CommandId(id)
            .name()
            .unwrap_or("no operation known")
            .to_owned()
    })?);
    reader.report.title = command.to_string();
    let status = reader.code("command_status", |code| {
        status_meaning(CommandStatus(code), command)
    })?;
    if !command.is_response() && status != 0 {
        reader.problem(start + 8, "command_status", "a request has 0 here");
    }
    reader.word("sequence_number")?;
    let Some(rows) = table(command) else {
        let text = "no operation of SMPP 3.4 or 5.0; its body cannot be read";
        reader.problem(start + 4, "command_id", text);
        reader.rest("body");
        return Ok(());
    };
    // The body of a response may be left out (§4.4.2).
    if !(reader.left() == 0 && command.is_response()) {
        body(reader, rows)?;
    }
    if reader.left() > 0 {
        let text = format!(
            "more octets than the operation has fields: {}",
            reader.left()
        );
        reader.problem(reader.position(), "command_length", text);
        reader.rest("(left over)");
    }
    contents(reader);
    as_the_codec_reads_it(reader, command);
    Ok(())
}

fn body(reader: &mut PduReader, rows: &[FieldRow]) -> Result<(), Stop> {
    for (name, kind) in rows {
        match *kind {
            Octet(explain) => {
                reader.octet(name, explain)?;
            }
            CString(max) => reader.c_string(name, max)?,
            Time => reader.time(name)?,
            ShortMessage => {
                let length = reader.octet("sm_length", Number)?;
                reader.message(name, usize::from(length))?;
            }
            Destinations => destinations(reader)?,
            Failures => failures(reader)?,
            Tlvs => tlvs::read(reader)?,
        }
    }
    Ok(())
}

fn destinations(reader: &mut PduReader) -> Result<(), Stop> {
    for number in 1..=reader.octet("number_of_dests", Number)? {
        let name = |field: &str| format!("dest_address {number} {field}");
        let at = reader.position();
        match reader.octet(&name("dest_flag"), Number)? {
            1 => {
                reader.octet(&name("dest_addr_ton"), Ton)?;
                reader.octet(&name("dest_addr_npi"), Npi)?;
                reader.c_string(&name("destination_addr"), 21)?;
            }
            2 => {
                reader.c_string(&name("dl_name"), 21)?;
            }
            other => {
                return Err(Stop::at(
                    at,
                    &name("dest_flag"),
                    format!("{other} is neither 1 (an address) nor 2 (a distribution list)"),
                ));
            }
        }
    }
    Ok(())
}

fn failures(reader: &mut PduReader) -> Result<(), Stop> {
    for number in 1..=reader.octet("no_unsuccess", Number)? {
        let name = |field: &str| format!("unsuccess_sme {number} {field}");
        reader.octet(&name("dest_addr_ton"), Ton)?;
        reader.octet(&name("dest_addr_npi"), Npi)?;
        reader.c_string(&name("destination_addr"), 21)?;
        reader.code(&name("error_status_code"), |code| {
            status_meaning(CommandStatus(code), CommandId::SUBMIT_MULTI_RESP)
        })?;
    }
    Ok(())
}

/// The text of the message.
fn contents(reader: &mut PduReader) {
    let Some(message) = reader.message.clone() else {
        return;
    };
    let reading = text::UserDataHints {
        data_coding: Some(reader.data_coding),
        has_header: Some(reader.esm_class & ESM_UDHI != 0),
        packed: None,
    };
    let (user_data, problem) = text::explain(&message.octets, message.at, reading);
    reader.report.user_data = Some(user_data);
    if let Some(text) = problem {
        reader.problem(message.at, "user data header", text);
    }
}

/// The receipt, and how this SMSC answers what it cannot read.
fn as_the_codec_reads_it(reader: &mut PduReader, command: CommandId) {
    match decode(reader.frame(), &Leniency::default()) {
        Decoded::Pdu(pdu) => {
            if let Body::DeliverSm(deliver_sm) = &pdu.body {
                reader.report.receipt = receipts::explain(deliver_sm);
            }
        }
        Decoded::Malformed(malformed) if !command.is_response() => {
            let text = format!("this SMSC answers {}", malformed.status);
            reader.problem(reader.position(), malformed.field, text);
        }
        Decoded::Malformed(_) => {}
    }
}

fn status_meaning(status: CommandStatus, command: CommandId) -> String {
    if !command.is_response() && status.is_ok() {
        return "not used in requests".to_owned();
    }
    match (status.known_name(), status.description()) {
        (Some(name), Some(description)) => format!("{name}: {description}"),
        _ if (0x400..=0x4FF).contains(&status.0) => "a vendor's code".to_owned(),
        _ => "no status of SMPP 3.4 or 5.0".to_owned(),
    }
}
