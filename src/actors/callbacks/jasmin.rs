//! Callbacks as Jasmin makes them: the parameters of its HTTP connectors and of its delivery reports.

use super::body::{EndedMessage, FormFields, ShownNames};
use crate::actors::receipts::shown_id;
use crate::clock;
use crate::content::{self, pdu};
use crate::domain::command_status;
use crate::domain::state;
use crate::pb::{Message, MessageState};
use crate::smpp::time::format_receipt_date;
use crate::smpp::{CommandStatus, SubmitSm, receipt};
use data_encoding::HEXLOWER;

/// The levels of reports: about the operator's answer, and about the handset.
const OPERATOR: &str = "1";
const HANDSET: &str = "2";

/// The parameters of a delivery report of level 2; of level 1, if the message ended with the operator's answer and that
/// was asked for.
pub(super) fn receipt(ended: EndedMessage<'_>, names: ShownNames<'_>) -> FormFields {
    let EndedMessage {
        message,
        fin,
        deliver,
        ..
    } = ended;
    let id = shown_id::of(message);
    let client = message.client_data.as_deref();
    // A receipt of the operator has a done date.
    let by_answer = fin.done_at == 0;
    let is_wanted = match client.map_or(0, |client| client.dlr_level) {
        1 => true,
        3 => by_answer,
        _ => false,
    };
    match fin.state {
        MessageState::Accepted if is_wanted => return sent(message, names),
        MessageState::Rejected if is_wanted => {
            let status = std::str::from_utf8(&fin.error).ok();
            let status = status.filter(|_| by_answer).and_then(command_status::parse);
            let status = status.unwrap_or(CommandStatus::ESME_RSUBMITFAIL.0);
            return answer(message, status, names);
        }
        _ => {}
    }
    let said = receipt::parse(&deliver.short_message).unwrap_or_default();
    let date = |ms: Option<i64>| ms.map_or_else(String::new, |ms| format_receipt_date(ms, false));
    let status = receipt::state_word(fin.state as i32 as u8);
    vec![
        ("id", id.clone().into_bytes()),
        ("level", HANDSET.into()),
        ("message_status", status.as_bytes().to_vec()),
        ("connector", names.operator.as_bytes().to_vec()),
        ("id_smsc", id.into_bytes()),
        ("sub", format!("{:03}", said.sub).into_bytes()),
        ("dlvrd", format!("{:03}", said.dlvrd).into_bytes()),
        ("subdate", date(said.submit_date_ms).into_bytes()),
        ("donedate", date(said.done_date_ms).into_bytes()),
        ("err", said.err.to_vec()),
        ("text", said.text.to_vec()),
    ]
}

/// The parameters of a delivery report of level 1: an operator has accepted the message.
pub(super) fn sent(message: &Message, names: ShownNames<'_>) -> FormFields {
    answer(message, CommandStatus::ESME_ROK.0, names)
}

/// What the operator has answered.
fn answer(message: &Message, status: u32, names: ShownNames<'_>) -> FormFields {
    vec![
        ("id", shown_id::of(message).into_bytes()),
        ("level", OPERATOR.into()),
        (
            "message_status",
            command_status::display(status).into_bytes(),
        ),
        ("connector", names.operator.as_bytes().to_vec()),
    ]
}

/// The parameters of a message, with these addresses.
pub(super) fn incoming(
    message: &Message,
    addressed: &SubmitSm,
    names: ShownNames<'_>,
) -> FormFields {
    let octets = content::payload(message);
    let binary = HEXLOWER.encode(&octets);
    let mut fields = vec![
        ("id", message.id.to_string().into_bytes()),
        ("from", addressed.source_addr.to_vec()),
        ("to", addressed.destination_addr.to_vec()),
        ("origin-connector", names.operator.as_bytes().to_vec()),
        ("priority", message.priority.to_string().into_bytes()),
        ("coding", message.data_coding.to_string().into_bytes()),
        ("content", octets.to_vec()),
        ("binary", binary.into_bytes()),
    ];
    let validity = pdu::validity_left(message, clock::now_ms());
    if !validity.is_empty() {
        fields.push(("validity", validity.to_vec()));
    }
    fields
}

/// The parameters that try a receiver.
pub(super) fn test(id: &str, account: &str) -> FormFields {
    let status = receipt::state_word(state::DELIVERED);
    vec![
        ("id", id.as_bytes().to_vec()),
        ("level", b"1".to_vec()),
        ("message_status", status.as_bytes().to_vec()),
        ("connector", account.as_bytes().to_vec()),
    ]
}
