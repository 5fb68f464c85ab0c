//! CMPP 2.0 and 3.0, as [`super::gateway`] asks (CMPP 3.0 §8.4).

use bytes::Bytes;
use secrecy::ExposeSecret as _;

use super::gateway::{
    Brought, CarrierMessage, Gateway, Incoming, kept, outcome_of, refusal, text_or, timestamp,
};
use crate::carrier::fields::{Content, Recipients, Tail, Text, Varying, Widened};
use crate::cmpp::bodies::{MessageResp, Submit};
use crate::cmpp::{Body, Cmpp, Pdu, Report, status};
use crate::config::{Carrier, OperatorConfig};
use crate::pb::PduDialect;
use crate::smpp::CommandStatus;
use crate::smpp::session::BindType;

/// FeeType: free of charge.
const FREE: &str = "01";

impl Gateway for Cmpp {
    /// Msg_Id.
    type Came = u64;

    fn dialect(self) -> PduDialect {
        match self {
            Self::V20 => PduDialect::Cmpp20,
            Self::V30 => PduDialect::Cmpp30,
        }
    }

    fn login(&self, operator: &OperatorConfig, _: BindType, now_ms: i64) -> Body {
        let secret = operator.password.expose_secret().as_bytes();
        self.connect(&operator.system_id, secret, timestamp(now_ms))
    }

    fn refused(body: &Body) -> CommandStatus {
        match body {
            Body::ConnectResp(resp) => refusal(status::smpp(&status::CONNECT, resp.status.0)),
            _ => CommandStatus::ESME_RBINDFAIL,
        }
    }

    fn submit(
        &self,
        operator: &OperatorConfig,
        carrier: &Carrier,
        draft: CarrierMessage,
        to: Vec<Bytes>,
    ) -> Body {
        let source = carrier.msg_src.as_deref().unwrap_or(&operator.system_id);
        let fee_number = match carrier.fee_payer {
            3 => carrier.fee_number.as_str(),
            _ => "",
        };
        // What 2.0 has in its place is reserved.
        let link_id = match *self {
            Self::V20 => Bytes::new(),
            Self::V30 => draft.link_id,
        };
        Body::Submit(Box::new(Submit {
            pk_total: draft.part.0,
            pk_number: draft.part.1,
            registered_delivery: draft.wants_report.into(),
            service_id: carrier.service_id.as_str().into(),
            fee_user_type: carrier.fee_payer,
            fee_terminal_id: fee_number.into(),
            tp_pid: draft.protocol_id,
            tp_udhi: draft.has_header.into(),
            msg_fmt: draft.format,
            msg_src: source.into(),
            fee_type: Text(text_or(carrier.fee_type.as_deref(), FREE)),
            fee_code: carrier.fee_code.as_str().into(),
            valid_time: Text(draft.valid_until),
            at_time: Text(draft.deliver_at),
            src_id: Text(draft.from),
            dest_terminal_id: Recipients(to),
            msg_content: Content(draft.content),
            link_id: Tail(link_id),
            ..Submit::default()
        }))
    }

    fn result(response: &Body) -> Option<CommandStatus> {
        match response {
            Body::SubmitResp(resp) => Some(status::smpp(&status::SUBMIT, resp.result.0)),
            _ => None,
        }
    }

    fn id_for(response: &Pdu, _: &[u8]) -> Bytes {
        match &response.body {
            Body::SubmitResp(resp) => digits(resp.msg_id),
            _ => Bytes::new(),
        }
    }

    fn brought(&self, body: &Body) -> Option<(u64, Brought)> {
        let Body::Deliver(deliver) = body else {
            return None;
        };
        let Varying(from) = &deliver.src_terminal_id;
        let brought = match deliver.registered_delivery {
            0 => Brought::Message(Incoming {
                from: kept(from),
                to: kept(&deliver.dest_id.0),
                protocol_id: deliver.tp_pid,
                has_header: deliver.tp_udhi & 1 != 0,
                format: deliver.msg_fmt,
                content: kept(&deliver.msg_content.0),
                link_id: match *self {
                    Self::V20 => Bytes::new(),
                    Self::V30 => kept(&deliver.link_id.0),
                },
            }),
            _ => match Report::decode(&deliver.msg_content.0, *self) {
                Ok(report) => of_report(&report),
                Err(_) => Brought::Nothing,
            },
        };
        Some((deliver.msg_id, brought))
    }

    fn answer(came: u64, status: CommandStatus) -> Body {
        Body::DeliverResp(MessageResp {
            msg_id: came,
            result: Widened(status::of_smpp(status)),
        })
    }
}

fn of_report(report: &Report) -> Brought {
    let (outcome, error) = outcome_of(&report.stat.0, &Bytes::new());
    Brought::Report {
        id: digits(report.msg_id),
        outcome,
        error,
        number: kept(&report.dest_terminal_id.0),
    }
}

/// Msg_Id as the operator's message id.
fn digits(msg_id: u64) -> Bytes {
    Bytes::copy_from_slice(itoa::Buffer::new().format(msg_id).as_bytes())
}
