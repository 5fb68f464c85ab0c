//! The gateway of China Telecom (SMGP 3.0).

use bytes::Bytes;
use data_encoding::HEXUPPER;
use smsc_carrier::SessionConfig;
use smsc_carrier::fields::{Content, Raw, Text};
use smsc_carrier::login::client;
use smsc_smgp::bodies::{Deliver, MessageResp};
use smsc_smgp::{Body, Report, Smgp, login_resp, session_config, status};
use smsc_smpp::CommandStatus;

use super::dialect::{
    Dialect, GatewayDelivery, GatewayMessageId, GatewaySubmission, LoginOutcome, LoginRefusal,
    What, check, id_of,
};
use crate::simulator::SimulatorOptions;

/// LoginMode: the client only sends.
const SENDS: u8 = 0;
/// NULs between the name and the secret in a proof.
const ZEROS: usize = 7;

impl Dialect for Smgp {
    fn new() -> Self {
        Self
    }

    fn config() -> SessionConfig {
        session_config()
    }

    fn log_in(login: &Body, options: &SimulatorOptions) -> Option<LoginOutcome<Self>> {
        let Body::Login(login) = login else {
            return None;
        };
        let name = &login.client_id.0;
        let is_proven = |secret: &[u8]| {
            login.authenticator_client.0 == client(name, ZEROS, secret, login.timestamp)
        };
        let status = match check(options, name, is_proven) {
            Err(LoginRefusal::Name | LoginRefusal::Proof) => 21,
            Ok(()) => status::OK,
        };
        let secret = options.password.as_deref().unwrap_or_default().as_bytes();
        Some(LoginOutcome {
            protocol: Self,
            response: login_resp(login, secret, status),
            is_accepted: status == status::OK,
            receives: login.login_mode != SENDS,
        })
    }

    fn submitted(body: Body) -> Option<GatewaySubmission> {
        let Body::Submit(submit) = body else {
            return None;
        };
        Some(GatewaySubmission {
            from: submit.src_term_id.0,
            to: submit.dest_term_id.0,
            service: submit.service_id.0,
            text: submit.msg_content.0,
            wants_report: submit.need_report != 0,
        })
    }

    fn id(number: u64, _: u32) -> GatewayMessageId {
        id_of(number)
    }

    fn shown(id: &GatewayMessageId) -> String {
        HEXUPPER.encode(&msg_id(id))
    }

    fn answer(&self, id: &GatewayMessageId, status: CommandStatus) -> Body {
        Body::SubmitResp(MessageResp {
            msg_id: Raw(msg_id(id)),
            status: status::of_smpp(status),
        })
    }

    fn bring(&self, brought: &GatewayDelivery, minute: &str) -> Option<Body> {
        let mut deliver = Deliver {
            msg_id: Raw(msg_id(&brought.id)),
            recv_time: format!("20{minute}00").as_str().into(),
            src_term_id: Text(brought.number.clone()),
            dest_term_id: Text(brought.to.clone()),
            ..Deliver::default()
        };
        match &brought.what {
            What::Message { text } => deliver.msg_content = Content(text.clone()),
            What::Report { stat, .. } => {
                let now = Bytes::copy_from_slice(minute.as_bytes());
                let report = Report {
                    msg_id: deliver.msg_id.0,
                    stat: (*stat).into(),
                    err: "000".into(),
                    submit_date: now.clone(),
                    done_date: now,
                };
                deliver.is_report = 1;
                deliver.msg_content = Content(report.encode());
            }
        }
        Some(Body::Deliver(Box::new(deliver)))
    }

    fn is_taken(body: &Body) -> Option<bool> {
        match body {
            Body::DeliverResp(resp) => Some(resp.status == status::OK),
            _ => None,
        }
    }
}

/// Ids of handsets' messages are longer; their number is at the end.
fn msg_id(id: &GatewayMessageId) -> [u8; 10] {
    id.last_chunk().copied().unwrap_or_default()
}
