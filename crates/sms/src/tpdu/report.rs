//! SMS-STATUS-REPORT, SMS-COMMAND, and the reports that answer messages in RP-ACK and RP-ERROR
//! (§9.2.2.1a, §9.2.2.2a, §9.2.2.3, §9.2.2.4).

use super::address::TpduAddress;
use super::field::{FieldFault, FieldProblem, TpduField, TpduWriteError, UnwritableReason};
use super::message::{LOOP_PREVENTION, NO_MORE};
use super::reader::TpduReader;
use super::time::TimeStamp;
use super::user_data::{OCTETS, Parameters, UserData};
use super::{TPDU_MAX, TpduKind, UDHI, bit};

/// Bit of the first octet of SMS-STATUS-REPORT: the report is about a command (§9.2.3.26).
const OF_COMMAND: u8 = 0x20;
/// Bit of the first octet of SMS-COMMAND: a status report is wanted (§9.2.3.5).
const STATUS_REPORT: u8 = 0x20;
/// The lowest TP-FCS that is not reserved (§9.2.3.22).
const LOWEST_CAUSE: u8 = 0x80;

/// What became of a message, told to the phone that sent it (§9.2.2.3).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusReport {
    /// TP-MMS: more messages wait for the phone.
    pub more_messages: bool,
    /// TP-LP.
    pub loop_prevention: bool,
    /// TP-SRQ: it answers an SMS-COMMAND, not an SMS-SUBMIT.
    pub of_command: bool,
    /// TP-MR of what it is about.
    pub message_reference: u8,
    /// TP-RA: to whom that went.
    pub recipient_address: TpduAddress,
    /// TP-SCTS: when the service centre got it.
    pub service_centre_time_stamp: TimeStamp,
    /// TP-DT: when it was delivered, or last tried.
    pub discharge_time: TimeStamp,
    /// TP-ST.
    pub status: u8,
    /// What TP-PI announces.
    pub parameters: Parameters,
}

/// An order of a phone about a message that it sent (§9.2.2.4).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SmsCommand {
    /// TP-SRR.
    pub status_report_request: bool,
    /// TP-MR: the phone's number of this command.
    pub message_reference: u8,
    /// TP-PID.
    pub protocol_identifier: u8,
    /// TP-CT.
    pub command_type: u8,
    /// TP-MN: TP-MR of the message that it is about.
    pub message_number: u8,
    /// TP-DA: to whom that went.
    pub destination_address: TpduAddress,
    /// TP-CD.
    pub data: UserData,
}

/// A phone's answer to SMS-DELIVER or SMS-STATUS-REPORT (§9.2.2.1a).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliverReport {
    /// TP-FCS: why it was refused, 0x80 to 0xFF; only in RP-ERROR, and always there.
    pub failure_cause: Option<u8>,
    /// What TP-PI announces.
    pub parameters: Parameters,
}

/// The service centre's answer to SMS-SUBMIT or SMS-COMMAND (§9.2.2.2a).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubmitReport {
    /// TP-FCS: why it was refused, 0x80 to 0xFF; only in RP-ERROR, and always there.
    pub failure_cause: Option<u8>,
    /// TP-SCTS: when the service centre got the message.
    pub service_centre_time_stamp: TimeStamp,
    /// What TP-PI announces.
    pub parameters: Parameters,
}

// === impl StatusReport ===

impl StatusReport {
    pub(super) fn read(reader: &mut TpduReader) -> Result<Self, FieldFault> {
        let first = reader.octet(TpduField::FirstOctet)?;
        let message_reference = reader.octet(TpduField::MessageReference)?;
        let recipient_address = TpduAddress::read(reader, TpduField::RecipientAddress)?;
        let service_centre_time_stamp = TimeStamp::read(reader, TpduField::ServiceCentreTimeStamp)?;
        let discharge_time = TimeStamp::read(reader, TpduField::DischargeTime)?;
        let status = reader.octet(TpduField::Status)?;
        Ok(Self {
            more_messages: first & NO_MORE == 0,
            loop_prevention: first & LOOP_PREVENTION != 0,
            of_command: first & OF_COMMAND != 0,
            message_reference,
            recipient_address,
            service_centre_time_stamp,
            discharge_time,
            status,
            parameters: Parameters::read(reader, first & UDHI != 0)?,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), TpduWriteError> {
        out.push(
            TpduKind::StatusReport.message_type()
                | bit(!self.more_messages, NO_MORE)
                | bit(self.loop_prevention, LOOP_PREVENTION)
                | bit(self.of_command, OF_COMMAND)
                | bit(self.parameters.has_header(), UDHI),
        );
        out.push(self.message_reference);
        self.recipient_address
            .write(TpduField::RecipientAddress, out)?;
        let stamp = &self.service_centre_time_stamp;
        stamp.write(TpduField::ServiceCentreTimeStamp, out)?;
        self.discharge_time.write(TpduField::DischargeTime, out)?;
        out.push(self.status);
        // Phase 1 phones know no TP-PI: it is mandatory only with what it announces.
        if self.parameters.is_empty() {
            Ok(())
        } else {
            self.parameters.write(out)
        }
    }
}

// === impl SmsCommand ===

impl SmsCommand {
    pub(super) fn read(reader: &mut TpduReader) -> Result<Self, FieldFault> {
        let first = reader.octet(TpduField::FirstOctet)?;
        Ok(Self {
            status_report_request: first & STATUS_REPORT != 0,
            message_reference: reader.octet(TpduField::MessageReference)?,
            protocol_identifier: reader.octet(TpduField::ProtocolIdentifier)?,
            command_type: reader.octet(TpduField::CommandType)?,
            message_number: reader.octet(TpduField::MessageNumber)?,
            destination_address: TpduAddress::read(reader, TpduField::DestinationAddress)?,
            data: UserData::read(
                reader,
                TpduField::CommandDataLength,
                TpduField::CommandData,
                first & UDHI != 0,
                OCTETS,
                TPDU_MAX,
            )?,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), TpduWriteError> {
        out.push(
            TpduKind::Command.message_type()
                | bit(self.status_report_request, STATUS_REPORT)
                | bit(!self.data.header.is_empty(), UDHI),
        );
        out.extend([
            self.message_reference,
            self.protocol_identifier,
            self.command_type,
            self.message_number,
        ]);
        self.destination_address
            .write(TpduField::DestinationAddress, out)?;
        let room = TPDU_MAX.saturating_sub(out.len() + 1);
        self.data.write(TpduField::CommandData, OCTETS, room, out)
    }
}

// === impl DeliverReport ===

impl DeliverReport {
    pub(super) fn read(reader: &mut TpduReader, is_error: bool) -> Result<Self, FieldFault> {
        let first = reader.octet(TpduField::FirstOctet)?;
        Ok(Self {
            failure_cause: read_cause(reader, is_error)?,
            parameters: read_mandatory(reader, first)?,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), TpduWriteError> {
        let kind = TpduKind::DeliverReport;
        out.push(kind.message_type() | bit(self.parameters.has_header(), UDHI));
        write_cause(self.failure_cause, out)?;
        self.parameters.write(out)
    }
}

// === impl SubmitReport ===

impl SubmitReport {
    pub(super) fn read(reader: &mut TpduReader, is_error: bool) -> Result<Self, FieldFault> {
        let first = reader.octet(TpduField::FirstOctet)?;
        let failure_cause = read_cause(reader, is_error)?;
        let indicator = Parameters::read_indicator(reader)?;
        let stamp = TimeStamp::read(reader, TpduField::ServiceCentreTimeStamp)?;
        Ok(Self {
            failure_cause,
            service_centre_time_stamp: stamp,
            parameters: Parameters::read_announced(reader, indicator, first & UDHI != 0)?,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), TpduWriteError> {
        let kind = TpduKind::SubmitReport;
        out.push(kind.message_type() | bit(self.parameters.has_header(), UDHI));
        write_cause(self.failure_cause, out)?;
        out.push(self.parameters.indicator());
        let stamp = &self.service_centre_time_stamp;
        stamp.write(TpduField::ServiceCentreTimeStamp, out)?;
        self.parameters.write_announced(out)
    }
}

/// TP-FCS of a report in RP-ERROR.
fn read_cause(reader: &mut TpduReader, is_error: bool) -> Result<Option<u8>, FieldFault> {
    if !is_error {
        return Ok(None);
    }
    let at = reader.at();
    let cause = reader.octet(TpduField::FailureCause)?;
    if cause < LOWEST_CAUSE {
        reader.odd(TpduField::FailureCause, at, FieldProblem::Reserved(cause));
    }
    Ok(Some(cause))
}

fn write_cause(cause: Option<u8>, out: &mut Vec<u8>) -> Result<(), TpduWriteError> {
    if let Some(reserved) = cause.filter(|cause| *cause < LOWEST_CAUSE) {
        return Err(TpduField::FailureCause.refuses(UnwritableReason::Reserved(reserved)));
    }
    out.extend(cause);
    Ok(())
}

/// TP-PI is mandatory in the phone's reports, yet some phones leave it out.
fn read_mandatory(reader: &mut TpduReader, first: u8) -> Result<Parameters, FieldFault> {
    if reader.left() == 0 {
        let short = FieldProblem::Short { wanted: 1, left: 0 };
        reader.odd(TpduField::ParameterIndicator, reader.at(), short);
    }
    Parameters::read(reader, first & UDHI != 0)
}
