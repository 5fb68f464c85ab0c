//! The gateway of China Mobile (CMPP 2.0 and 3.0).

use smsc_carrier::SessionConfig;
use smsc_carrier::fields::{Content, Text, Varying, Widened};
use smsc_cmpp::bodies::{Deliver, MessageResp};
use smsc_cmpp::{Body, Cmpp, Report, proof, session_config, status};
use smsc_smpp::CommandStatus;

use super::dialect::{
    Dialect, GatewayDelivery, GatewayMessageId, GatewaySubmission, LoginOutcome, LoginRefusal,
    What, check, id_of,
};
use crate::simulator::SimulatorOptions;

impl Dialect for Cmpp {
    fn new() -> Self {
        Self::V20
    }

    fn config() -> SessionConfig {
        session_config()
    }

    fn log_in(login: &Body, options: &SimulatorOptions) -> Option<LoginOutcome<Self>> {
        let Body::Connect(connect) = login else {
            return None;
        };
        let source = &connect.source_addr.0;
        let is_proven = |secret: &[u8]| {
            connect.authenticator_source == proof(source, secret, connect.timestamp)
        };
        let version = Self::of(connect.version);
        let status = match (version, check(options, source, is_proven)) {
            (None, _) => 4,
            (_, Err(LoginRefusal::Name)) => 2,
            (_, Err(LoginRefusal::Proof)) => 3,
            (_, Ok(())) => status::OK,
        };
        let protocol = version.unwrap_or(Self::V30);
        let secret = options.password.as_deref().unwrap_or_default().as_bytes();
        Some(LoginOutcome {
            protocol,
            response: protocol.connect_resp(connect, secret, status),
            is_accepted: status == status::OK,
            receives: true,
        })
    }

    fn submitted(body: Body) -> Option<GatewaySubmission> {
        let Body::Submit(submit) = body else {
            return None;
        };
        Some(GatewaySubmission {
            from: submit.src_id.0,
            to: submit.dest_terminal_id.0,
            service: submit.service_id.0,
            text: submit.msg_content.0,
            wants_report: submit.registered_delivery != 0,
        })
    }

    fn id(number: u64, _: u32) -> GatewayMessageId {
        id_of(number)
    }

    fn shown(id: &GatewayMessageId) -> String {
        msg_id(id).to_string()
    }

    fn answer(&self, id: &GatewayMessageId, status: CommandStatus) -> Body {
        Body::SubmitResp(MessageResp {
            msg_id: msg_id(id),
            result: Widened(status::of_smpp(status)),
        })
    }

    fn bring(&self, brought: &GatewayDelivery, minute: &str) -> Option<Body> {
        let mut deliver = Deliver {
            msg_id: msg_id(&brought.id),
            dest_id: Text(brought.to.clone()),
            src_terminal_id: Varying(brought.number.clone()),
            ..Deliver::default()
        };
        match &brought.what {
            What::Message { text } => deliver.msg_content = Content(text.clone()),
            What::Report { service, stat } => {
                let report = Report {
                    msg_id: deliver.msg_id,
                    stat: (*stat).into(),
                    submit_time: minute.into(),
                    done_time: minute.into(),
                    dest_terminal_id: Varying(brought.number.clone()),
                    smsc_sequence: 0,
                };
                deliver.registered_delivery = 1;
                deliver.service_id = Text(service.clone());
                deliver.msg_content = Content(report.encode(*self).ok()?);
            }
        }
        Some(Body::Deliver(Box::new(deliver)))
    }

    fn is_taken(body: &Body) -> Option<bool> {
        match body {
            Body::DeliverResp(resp) => Some(resp.result.0 == status::OK),
            _ => None,
        }
    }
}

/// Ids of handsets' messages are longer; their number is at the end.
fn msg_id(id: &GatewayMessageId) -> u64 {
    id.last_chunk()
        .map_or(0, |octets| u64::from_be_bytes(*octets))
}
