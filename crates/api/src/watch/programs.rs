//! Frames of local programs in the words of [`super::Pdu`]: those that the session of an operator and its program send each other.

use prost::Message as _;
use smsc_proto::WatchedPdu;
use smsc_proto::local::not_delivered::Cause;
use smsc_proto::local::{FromSmsc, Short, ToSmsc, from_smsc, to_smsc};
use smsc_smpp::{CommandStatus, SubmitSm};

use super::carriers::OtherPdu;

/// What a frame is, its status, the id of a message, and a message.
type FrameParts = (&'static str, Option<u32>, String, Option<Short>);

/// Reads a frame, or the beginning of one; `None` for what is none.
pub(super) fn read(pdu: &WatchedPdu) -> Option<OtherPdu> {
    let octets = &pdu.octets[..];
    let length = prost::decode_length_delimiter(octets).ok()?;
    let begins = prost::length_delimiter_len(length);
    // The number of its request is the first field.
    let request = prost::decode_length_delimiter(octets.get(begins + 1..)?).ok()?;
    let frame = &octets[begins..];
    let (command, status, message_id, short) = if pdu.out {
        of_smsc(frame)
    } else {
        of_program(frame)
    };
    let (from, to) = (short.as_ref()).map_or(("", ""), |one| (&*one.from, &*one.to));
    Some(OtherPdu {
        command: command.to_owned(),
        sequence: request as u32,
        length: (begins + length) as u32,
        status: status.map(CommandStatus),
        message_id,
        from: from.to_owned().into(),
        to: to.to_owned().into(),
        content: short.map(|short| SubmitSm {
            esm_class: short.esm_class as u8,
            data_coding: short.data_coding as u8,
            short_message: short.octets,
            ..SubmitSm::default()
        }),
    })
}

fn of_smsc(frame: &[u8]) -> FrameParts {
    let none = String::new();
    match FromSmsc::decode(frame).ok().and_then(|frame| frame.what) {
        Some(from_smsc::What::Done(_)) => ("Done", Some(0), none, None),
        Some(from_smsc::What::Failure(failure)) => {
            let code = Some(failure.code).filter(|code| *code != 0);
            ("Failure", code, none, None)
        }
        Some(from_smsc::What::ToPeer(to_peer)) => ("ToPeer", None, none, to_peer.message),
        // Only a text can be too long to be shown as a whole.
        _ => ("ToPeer", None, none, None),
    }
}

fn of_program(frame: &[u8]) -> FrameParts {
    let none = String::new();
    match ToSmsc::decode(frame).ok().and_then(|frame| frame.what) {
        Some(to_smsc::What::Report(report)) => ("Report", None, report.id, None),
        Some(to_smsc::What::Delivered(delivered)) => ("Delivered", Some(0), delivered.id, None),
        Some(to_smsc::What::NotDelivered(refused)) => match refused.cause {
            Some(Cause::CommandStatus(status)) => ("NotDelivered", Some(status), none, None),
            _ => ("NotDelivered", None, none, None),
        },
        Some(to_smsc::What::Failed(_)) => ("Failed", None, none, None),
        Some(to_smsc::What::FromPeer(from_peer)) => ("FromPeer", None, none, from_peer.message),
        _ => ("FromPeer", None, none, None),
    }
}
