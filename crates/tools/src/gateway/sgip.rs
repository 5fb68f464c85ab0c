//! The gateway of China Unicom (SGIP 1.2): it takes messages on the connections of the SMSC, and brings reports and
//! messages of handsets on one of its own, to the SMSC's listener.

use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXUPPER;
use smsc_carrier::SessionConfig;
use smsc_carrier::fields::{Content, Text};
use smsc_sgip::bodies::{Bind, Deliver, Report, ResultResp};
use smsc_sgip::{Body, Sequence, Sgip, Version, session_config, status};
use smsc_smpp::CommandStatus;
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::connection;
use super::dialect::{
    Dialect, GatewayDelivery, GatewayMessageId, GatewaySubmission, LoginOutcome, What, check,
};
use super::hub::GatewayHub;
use crate::minute::Minute;
use crate::simulator::SimulatorOptions;
use smsc_host::clock;

/// Our node: SMG, area code 010.
const NODE: u32 = 101_001;
/// Login Type: of an SP, and of a gateway.
const OF_SP: u8 = 1;
const OF_GATEWAY: u8 = 2;
/// ReportFlag: a report in any case.
const ALWAYS: u8 = 1;
/// How often it is looked whether there is something to bring, and tried to connect.
const LOOK: Duration = Duration::from_millis(100);

impl Dialect for Sgip {
    fn new() -> Self {
        let mut minute = Minute::default();
        let time = minute.text(clock::now_ms())[2..].parse().unwrap_or(0);
        Self {
            version: Version::V12,
            node: NODE,
            // MMDDhhmmss: the seconds need not be right.
            time: 100_u32.saturating_mul(time),
        }
    }

    fn config() -> SessionConfig {
        session_config()
    }

    fn log_in(login: &Body, options: &SimulatorOptions) -> Option<LoginOutcome<Self>> {
        let Body::Bind(bind) = login else {
            return None;
        };
        let is_proven = |secret: &[u8]| bind.login_password.0 == secret;
        let result = match (
            bind.login_type,
            check(options, &bind.login_name.0, is_proven),
        ) {
            (OF_SP, Ok(())) => status::OK,
            (OF_SP, Err(_)) => status::LOGIN,
            _ => status::LOGIN_TYPE,
        };
        Some(LoginOutcome {
            protocol: Self::new(),
            response: Body::BindResp(ResultResp::of(result)),
            is_accepted: result == status::OK,
            receives: false,
        })
    }

    fn submitted(body: Body) -> Option<GatewaySubmission> {
        let Body::Submit(submit) = body else {
            return None;
        };
        Some(GatewaySubmission {
            from: submit.sp_number.0,
            to: submit.user_number.0,
            service: submit.service_type.0,
            text: submit.message_content.0,
            wants_report: submit.report_flag == ALWAYS,
        })
    }

    fn id(_: u64, sequence: Sequence) -> GatewayMessageId {
        sequence.octets()
    }

    fn shown(id: &GatewayMessageId) -> String {
        HEXUPPER.encode(id)
    }

    fn answer(&self, _: &GatewayMessageId, status: CommandStatus) -> Body {
        Body::SubmitResp(ResultResp::of(status::of_smpp(status)))
    }

    fn bring(&self, brought: &GatewayDelivery, _: &str) -> Option<Body> {
        Some(match &brought.what {
            What::Message { text } => Body::Deliver(Box::new(Deliver {
                user_number: Text(brought.number.clone()),
                sp_number: Text(brought.to.clone()),
                message_content: Content(text.clone()),
                ..Deliver::default()
            })),
            What::Report { stat, .. } => {
                let submit = Sequence::of(brought.id);
                let has_failed = *stat != "DELIVRD";
                Body::Report(Report {
                    submit_node: submit.node,
                    submit_time: submit.time,
                    submit_counter: submit.counter,
                    user_number: Text(brought.number.clone()),
                    state: if has_failed { 2 } else { 0 },
                    // The handset is out of reach.
                    error_code: if has_failed { 25 } else { 0 },
                    ..Report::default()
                })
            }
        })
    }

    fn is_taken(body: &Body) -> Option<bool> {
        match body {
            Body::DeliverResp(resp) | Body::ReportResp(resp) => Some(resp.result == status::OK),
            _ => None,
        }
    }
}

/// Connects to the SMSC's listener whenever there is something to bring, for ever.
pub(super) async fn bring(hub: Arc<GatewayHub>, address: String) {
    loop {
        if hub.has_work()
            && let Ok(socket) = TcpStream::connect(&address).await
        {
            let options = &hub.options.like;
            let login = Body::Bind(Bind {
                login_type: OF_GATEWAY,
                login_name: options.system_id.as_deref().unwrap_or_default().into(),
                login_password: options.password.as_deref().unwrap_or_default().into(),
                ..Bind::default()
            });
            connection::call(Arc::clone(&hub), socket, Sgip::new(), login).await;
        }
        sleep(LOOK).await;
    }
}
