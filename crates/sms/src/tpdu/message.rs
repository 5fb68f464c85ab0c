//! SMS-DELIVER and SMS-SUBMIT: the messages that carry texts (§9.2.2.1, §9.2.2.2).

use super::address::TpduAddress;
use super::field::{FieldFault, TpduField, TpduWriteError};
use super::reader::TpduReader;
use super::time::{TimeStamp, Validity};
use super::user_data::UserData;
use super::{TpduKind, UDHI, bit};
use crate::segment::USER_DATA;

/// Bits of the first octet of SMS-DELIVER (§9.2.2.1). That of TP-MMS is set when nothing more waits.
pub(super) const NO_MORE: u8 = 0x04;
pub(super) const LOOP_PREVENTION: u8 = 0x08;
const STATUS_REPORT: u8 = 0x20;
const REPLY_PATH: u8 = 0x80;
/// Bits of the first octet of SMS-SUBMIT (§9.2.2.2).
const REJECT_DUPLICATES: u8 = 0x04;
const FORMAT: u32 = 3;

/// A message to a phone (§9.2.2.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deliver {
    /// TP-MMS: more messages wait for the phone.
    pub more_messages: bool,
    /// TP-LP: forwarded or made by a machine; nothing answers it by itself.
    pub loop_prevention: bool,
    /// TP-SRI: the sender gets a status report.
    pub status_report_indication: bool,
    /// TP-RP.
    pub reply_path: bool,
    /// TP-OA.
    pub originating_address: TpduAddress,
    /// TP-PID.
    pub protocol_identifier: u8,
    /// TP-DCS.
    pub data_coding: u8,
    /// TP-SCTS: when the service centre got it.
    pub service_centre_time_stamp: TimeStamp,
    /// TP-UD.
    pub user_data: UserData,
}

/// A message from a phone (§9.2.2.2).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SmsSubmit {
    /// TP-RD: a message with the same reference to the same address is refused.
    pub reject_duplicates: bool,
    /// TP-SRR: the phone wants a status report.
    pub status_report_request: bool,
    /// TP-RP.
    pub reply_path: bool,
    /// TP-MR: the phone's number of it.
    pub message_reference: u8,
    /// TP-DA.
    pub destination_address: TpduAddress,
    /// TP-PID.
    pub protocol_identifier: u8,
    /// TP-DCS.
    pub data_coding: u8,
    /// TP-VP, and its format.
    pub validity: Validity,
    /// TP-UD.
    pub user_data: UserData,
}

// === impl Deliver ===

impl Deliver {
    pub(super) fn read(reader: &mut TpduReader) -> Result<Self, FieldFault> {
        let first = reader.octet(TpduField::FirstOctet)?;
        let originating_address = TpduAddress::read(reader, TpduField::OriginatingAddress)?;
        let protocol_identifier = reader.octet(TpduField::ProtocolIdentifier)?;
        let data_coding = reader.octet(TpduField::DataCodingScheme)?;
        let stamp = TimeStamp::read(reader, TpduField::ServiceCentreTimeStamp)?;
        let user_data = UserData::read_text(reader, first & UDHI != 0, data_coding, USER_DATA)?;
        Ok(Self {
            more_messages: first & NO_MORE == 0,
            loop_prevention: first & LOOP_PREVENTION != 0,
            status_report_indication: first & STATUS_REPORT != 0,
            reply_path: first & REPLY_PATH != 0,
            originating_address,
            protocol_identifier,
            data_coding,
            service_centre_time_stamp: stamp,
            user_data,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), TpduWriteError> {
        out.push(
            TpduKind::Deliver.message_type()
                | bit(!self.more_messages, NO_MORE)
                | bit(self.loop_prevention, LOOP_PREVENTION)
                | bit(self.status_report_indication, STATUS_REPORT)
                | bit(!self.user_data.header.is_empty(), UDHI)
                | bit(self.reply_path, REPLY_PATH),
        );
        self.originating_address
            .write(TpduField::OriginatingAddress, out)?;
        out.extend([self.protocol_identifier, self.data_coding]);
        let stamp = &self.service_centre_time_stamp;
        stamp.write(TpduField::ServiceCentreTimeStamp, out)?;
        self.user_data
            .write(TpduField::UserData, self.data_coding, USER_DATA, out)
    }
}

// === impl SmsSubmit ===

impl SmsSubmit {
    pub(super) fn read(reader: &mut TpduReader) -> Result<Self, FieldFault> {
        let first = reader.octet(TpduField::FirstOctet)?;
        let message_reference = reader.octet(TpduField::MessageReference)?;
        let destination_address = TpduAddress::read(reader, TpduField::DestinationAddress)?;
        let protocol_identifier = reader.octet(TpduField::ProtocolIdentifier)?;
        let data_coding = reader.octet(TpduField::DataCodingScheme)?;
        let validity = Validity::read(reader, first >> FORMAT)?;
        let user_data = UserData::read_text(reader, first & UDHI != 0, data_coding, USER_DATA)?;
        Ok(Self {
            reject_duplicates: first & REJECT_DUPLICATES != 0,
            status_report_request: first & STATUS_REPORT != 0,
            reply_path: first & REPLY_PATH != 0,
            message_reference,
            destination_address,
            protocol_identifier,
            data_coding,
            validity,
            user_data,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), TpduWriteError> {
        out.push(
            TpduKind::Submit.message_type()
                | bit(self.reject_duplicates, REJECT_DUPLICATES)
                | self.validity.format() << FORMAT
                | bit(self.status_report_request, STATUS_REPORT)
                | bit(!self.user_data.header.is_empty(), UDHI)
                | bit(self.reply_path, REPLY_PATH),
        );
        out.push(self.message_reference);
        self.destination_address
            .write(TpduField::DestinationAddress, out)?;
        out.extend([self.protocol_identifier, self.data_coding]);
        self.validity.write(out)?;
        self.user_data
            .write(TpduField::UserData, self.data_coding, USER_DATA, out)
    }
}
