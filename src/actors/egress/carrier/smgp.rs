//! SMGP 3.0, as [`super::gateway`] asks.

use bytes::Bytes;
use data_encoding::HEXUPPER;
use secrecy::ExposeSecret as _;

use super::gateway::{
    Brought, CarrierMessage, Gateway, Incoming, kept, outcome_of, refusal, text_or, timestamp,
};
use crate::carrier::fields::{Content, Raw, Recipients, Text};
use crate::carrier::link_id::MOST;
use crate::config::{Carrier, OperatorConfig};
use crate::pb::PduDialect;
use crate::smgp::bodies::{
    CHARGE_USER_TYPE, Deliver, LINK_ID, MSG_SRC, MessageResp, Options, PK_NUMBER, PK_TOTAL, Submit,
    TP_PID, TP_UDHI,
};
use crate::smgp::{Body, Pdu, Report, Smgp, login, status};
use crate::smpp::CommandStatus;
use crate::smpp::session::BindType;

/// MsgType: a message to a handset.
const TO_HANDSET: u8 = 6;
/// FeeType: free of charge.
const FREE: &str = "00";
/// ChargeUserType of who asks for no other: the SP pays.
const SP_PAYS: u8 = 2;
/// Octets of MsgSrc.
const SOURCE: usize = 8;

impl Gateway for Smgp {
    /// MsgID.
    type Came = [u8; 10];

    fn dialect(self) -> PduDialect {
        PduDialect::Smgp
    }

    fn login(&self, operator: &OperatorConfig, bind: BindType, now_ms: i64) -> Body {
        let secret = operator.password.expose_secret().as_bytes();
        let mode = match bind {
            BindType::Transmitter => 0,
            BindType::Receiver => 1,
            BindType::Transceiver => 2,
        };
        login(&operator.system_id, secret, mode, timestamp(now_ms))
    }

    fn refused(body: &Body) -> CommandStatus {
        match body {
            Body::LoginResp(resp) => refusal(status::smpp(resp.status)),
            _ => CommandStatus::ESME_RBINDFAIL,
        }
    }

    fn submit(
        &self,
        _: &OperatorConfig,
        carrier: &Carrier,
        draft: CarrierMessage,
        to: Vec<Bytes>,
    ) -> Body {
        let fee_number = match carrier.fee_payer {
            3 => carrier.fee_number.as_str(),
            _ => "",
        };
        Body::Submit(Box::new(Submit {
            msg_type: TO_HANDSET,
            need_report: draft.wants_report.into(),
            priority: draft.priority.min(3),
            service_id: carrier.service_id.as_str().into(),
            fee_type: Text(text_or(carrier.fee_type.as_deref(), FREE)),
            fee_code: carrier.fee_code.as_str().into(),
            fixed_fee: carrier.fixed_fee.as_str().into(),
            msg_format: draft.format,
            options: options_of(carrier, &draft),
            valid_time: Text(draft.valid_until),
            at_time: Text(draft.deliver_at),
            src_term_id: Text(draft.from),
            charge_term_id: fee_number.into(),
            dest_term_id: Recipients(to),
            msg_content: Content(draft.content),
            ..Submit::default()
        }))
    }

    fn result(response: &Body) -> Option<CommandStatus> {
        match response {
            Body::SubmitResp(resp) => Some(status::smpp(resp.status)),
            _ => None,
        }
    }

    fn id_for(response: &Pdu, _: &[u8]) -> Bytes {
        match &response.body {
            Body::SubmitResp(resp) => HEXUPPER.encode(&resp.msg_id.0).into(),
            _ => Bytes::new(),
        }
    }

    fn brought(&self, body: &Body) -> Option<([u8; 10], Brought)> {
        let Body::Deliver(deliver) = body else {
            return None;
        };
        let brought = match deliver.is_report {
            0 => Brought::Message(Incoming {
                from: kept(&deliver.src_term_id.0),
                to: kept(&deliver.dest_term_id.0),
                protocol_id: deliver.options.octet(TP_PID),
                has_header: deliver.options.has_header(),
                format: deliver.msg_format,
                content: kept(&deliver.msg_content.0),
                link_id: kept(&deliver.options.text(LINK_ID)),
            }),
            _ => Report::decode(&deliver.msg_content.0)
                .map_or(Brought::Nothing, |report| of_report(&report, deliver)),
        };
        Some((deliver.msg_id.0, brought))
    }

    fn answer(came: [u8; 10], status: CommandStatus) -> Body {
        Body::DeliverResp(MessageResp {
            msg_id: Raw(came),
            status: status::of_smpp(status),
        })
    }
}

/// The optional fields that say something; a gateway need not know those that do not.
fn options_of(carrier: &Carrier, draft: &CarrierMessage) -> Options {
    let mut options = Options::default();
    let (total, number) = draft.part;
    let is_part = total > 1;
    for (says, tag, octet) in [
        (draft.protocol_id != 0, TP_PID, draft.protocol_id),
        (draft.has_header, TP_UDHI, 1),
        (
            carrier.fee_payer != SP_PAYS,
            CHARGE_USER_TYPE,
            carrier.fee_payer,
        ),
        (is_part, PK_TOTAL, total),
        (is_part, PK_NUMBER, number),
    ] {
        if says {
            options.push_octet(tag, octet);
        }
    }
    if let Some(source) = &carrier.msg_src {
        options.push_text(MSG_SRC, source.as_bytes(), SOURCE);
    }
    if !draft.link_id.is_empty() {
        options.push_text(LINK_ID, &draft.link_id, MOST);
    }
    options
}

fn of_report(report: &Report, deliver: &Deliver) -> Brought {
    // 000 says that there is no error.
    let error = match &report.err[..] {
        b"000" => Bytes::new(),
        _ => report.err.clone(),
    };
    let (outcome, error) = outcome_of(&report.stat, &error);
    Brought::Report {
        id: HEXUPPER.encode(&report.msg_id).into(),
        outcome,
        error,
        number: kept(&deliver.src_term_id.0),
    }
}
