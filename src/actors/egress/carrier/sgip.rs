//! SGIP 1.2 and 1.3, as [`super::gateway`] asks. Our connections (type 1) submit; on those of the gateway (type 2) come
//! reports and messages of handsets.
//!
//! A report names the sequence of its Submit and the recipient, so both are the operator's message id.

use bytes::Bytes;
use data_encoding::HEXLOWER;
use secrecy::ExposeSecret as _;

use super::gateway::{
    Brought, CarrierMessage, Gateway, Incoming, kept, national, refusal, timestamp,
};
use super::translate::time_in_china;
use crate::carrier::fields::{Content, Recipients, Text};
use crate::carrier::outcome::Outcome;
use crate::clock;
use crate::config::{Carrier, OperatorConfig};
use crate::domain::address;
use crate::pb::PduDialect;
use crate::sgip::bodies::{Bind, CheckUserResp, Deliver, Report, ResultResp, Submit, TraceResp};
use crate::sgip::{Body, Pdu, Sequence, Sgip, status};
use crate::smpp::CommandStatus;
use crate::smpp::session::BindType;
use crate::smpp::time::parse_time;

/// Login Type: of us at the gateway.
pub(super) const TO_GATEWAY: u8 = 1;
/// Login Type: of the gateway at us.
pub(super) const FROM_GATEWAY: u8 = 2;
/// ChargeNumber: the SP pays.
const SP_PAYS: &str = "000000000000000000000";
/// FeeType: free of charge.
const FREE: u8 = 1;
/// The highest FeeType; an account may say one of another protocol.
const MOST_FEE_TYPE: u8 = 4;
/// ReportFlag: always, and never.
const ALWAYS: u8 = 1;
const NEVER: u8 = 2;

/// Which response answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    Bind,
    Deliver,
    Report,
    UserRpt,
    Trace,
    CheckUser,
    /// A command that is not served.
    Other(u32),
}

impl Gateway for Sgip {
    type Came = Came;

    const MOST_RECIPIENTS: usize = 100;
    const MOST_REQUESTS: Option<usize> = Some(32);
    const SLEEPS: bool = true;
    const IDS_HAVE_RECIPIENTS: bool = true;

    fn dialect(self) -> PduDialect {
        PduDialect::Sgip
    }

    fn at(self, now_ms: i64) -> Self {
        Self {
            time: timestamp(now_ms),
            ..self
        }
    }

    fn login(&self, operator: &OperatorConfig, _: BindType, _: i64) -> Body {
        Body::Bind(Bind {
            login_type: TO_GATEWAY,
            login_name: operator.system_id.as_str().into(),
            login_password: operator.password.expose_secret().into(),
            ..Bind::default()
        })
    }

    fn refused(body: &Body) -> CommandStatus {
        match body {
            Body::BindResp(resp) => refusal(status::smpp(resp.result)),
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
        let charge_number = match (carrier.fee_payer, &to[..]) {
            (0, [one]) => one.clone(),
            (0, _) => Bytes::new(),
            (3, _) => carrier.fee_number.clone().into(),
            _ => Bytes::from_static(SP_PAYS.as_bytes()),
        };
        let fee_type = carrier.fee_type.as_deref();
        Body::Submit(Box::new(Submit {
            sp_number: Text(draft.from),
            charge_number: Text(charge_number),
            user_number: Recipients(to),
            corp_id: carrier.corp_id.as_str().into(),
            service_type: carrier.service_id.as_str().into(),
            fee_type: fee_type
                .and_then(|digit| digit.parse().ok().filter(|number| *number <= MOST_FEE_TYPE))
                .unwrap_or(FREE),
            fee_value: carrier.fee_code.as_str().into(),
            given_value: carrier.given_value.as_str().into(),
            agent_flag: carrier.agent_flag,
            morelateto_mt_flag: carrier.mt_flag,
            // 0 to 3 of SMPP, 0 to 9 here.
            priority: 3 * draft.priority.min(3),
            expire_time: Text(in_china(&draft.valid_until)),
            schedule_time: Text(in_china(&draft.deliver_at)),
            report_flag: if draft.wants_report { ALWAYS } else { NEVER },
            tp_pid: draft.protocol_id,
            tp_udhi: draft.has_header.into(),
            message_coding: draft.format,
            message_content: Content(draft.content),
            ..Submit::default()
        }))
    }

    fn result(response: &Body) -> Option<CommandStatus> {
        match response {
            Body::SubmitResp(resp) => Some(status::smpp(resp.result)),
            _ => None,
        }
    }

    fn id_for(response: &Pdu, to: &[u8]) -> Bytes {
        id_of(response.sequence, to)
    }

    fn brought(&self, body: &Body) -> Option<(Came, Brought)> {
        Some(match body {
            Body::Deliver(deliver) => (Came::Deliver, Brought::Message(of_handset(deliver))),
            // Of a message of a handset that was passed on: nobody waits for it.
            Body::Report(report) if report.report_type != 0 => (Came::Report, Brought::Noted),
            Body::Report(report) => (Came::Report, of_report(report)),
            Body::UserRpt(told) => {
                let user = address::mask(&told.user_number.0);
                tracing::debug!(%user, condition = told.user_condition, "a gateway tells of a user");
                (Came::UserRpt, Brought::Noted)
            }
            Body::Bind(_) => (Came::Bind, Brought::Noted),
            Body::Trace(_) => (Came::Trace, Brought::Noted),
            Body::CheckUser(_) => (Came::CheckUser, Brought::Noted),
            other => (Came::Other(other.command()), Brought::Noted),
        })
    }

    fn answer(came: Came, status: CommandStatus) -> Body {
        let resp = ResultResp::of(status::of_smpp(status));
        match came {
            Came::Bind => Body::BindResp(ResultResp::of(status::AGAIN)),
            Came::Deliver => Body::DeliverResp(resp),
            Came::Report => Body::ReportResp(resp),
            Came::UserRpt => Body::UserRptResp(resp),
            // Of no message that it sent us is anything known here.
            Came::Trace => Body::TraceResp(TraceResp::default()),
            Came::CheckUser => Body::CheckUserResp(CheckUserResp {
                result: status::COMMAND,
                ..CheckUserResp::default()
            }),
            // Most responses are a Result and eight octets.
            Came::Other(command) => Body::Unknown {
                command: command | 0x8000_0000,
                octets: Bytes::from_static(&[status::COMMAND, 0, 0, 0, 0, 0, 0, 0, 0]),
            },
        }
    }
}

/// The operator's message id: the sequence in 24 hexadecimal digits, and the recipient.
fn id_of(sequence: Sequence, to: &[u8]) -> Bytes {
    let mut digits = [0; 24];
    HEXLOWER.encode_mut(&sequence.octets(), &mut digits);
    let to = String::from_utf8_lossy(national(to));
    [&digits[..], b"-", to.as_bytes()].concat().into()
}

/// The sequence of a Submit in the operator's message id that was made of it.
pub(in crate::actors) fn sequence_in(id: &str) -> Option<Sequence> {
    let (digits, _) = id.split_once('-')?;
    let octets = HEXLOWER.decode(digits.as_bytes()).ok()?;
    Some(Sequence::of(octets.try_into().ok()?))
}

fn of_report(report: &Report) -> Brought {
    let sequence = Sequence {
        node: report.submit_node,
        time: report.submit_time,
        counter: report.submit_counter,
    };
    let outcome = status::outcome(report.state).unwrap_or(Outcome::Unknown);
    let error = match outcome {
        Outcome::Undeliverable => report.error_code,
        _ => 0,
    };
    Brought::Report {
        id: id_of(sequence, &report.user_number.0),
        outcome,
        error: match error {
            0 => Bytes::from_static(b"000"),
            error => format!("{error:03}").into(),
        },
        number: kept(&report.user_number.0),
    }
}

fn of_handset(deliver: &Deliver) -> Incoming {
    Incoming {
        from: kept(&deliver.user_number.0),
        to: kept(&deliver.sp_number.0),
        protocol_id: deliver.tp_pid,
        has_header: deliver.tp_udhi & 1 != 0,
        format: deliver.message_coding,
        content: kept(&deliver.message_content.0),
        link_id: Bytes::new(),
    }
}

/// An absolute time of SMPP as that of China; empty if there is none.
fn in_china(time: &Bytes) -> Bytes {
    match parse_time(time, clock::now_ms()) {
        Ok(Some(ms)) => time_in_china(ms),
        _ => Bytes::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_china() {
        for (time, expected) in [
            ("", ""),
            ("261125200000000+", "261126040000032+"),
            ("261126040000032+", "261126040000032+"),
            ("261125150000020-", "261126040000032+"),
        ] {
            let time = Bytes::copy_from_slice(time.as_bytes());
            assert_eq!(in_china(&time), expected);
        }
    }

    #[test]
    fn a_report_finds_its_message_with_or_without_the_country() {
        let sequence = Sequence {
            node: 3_010_012_345,
            time: 1_120_203_225,
            counter: 7,
        };
        let id = "b36924b942c4f1d900000007-13000000001";
        for number in ["8613000000001", "13000000001", "+8613000000001"] {
            assert_eq!(id_of(sequence, number.as_bytes()), id);
        }
        assert_eq!(sequence_in(id), Some(sequence));
        for other in ["", "7", "their-7", "b36924b942c4f1d9-13000000001"] {
            assert_eq!(sequence_in(other), None, "{other}");
        }
        for (state, error_code, outcome, error) in [
            (0, 0, Outcome::Delivered, "000"),
            (1, 0, Outcome::Enroute, "000"),
            (2, 25, Outcome::Undeliverable, "025"),
            (9, 25, Outcome::Unknown, "000"),
        ] {
            let report = Report {
                submit_node: sequence.node,
                submit_time: sequence.time,
                submit_counter: sequence.counter,
                user_number: "8613000000001".into(),
                state,
                error_code,
                ..Report::default()
            };
            let expected = Brought::Report {
                id: id.into(),
                outcome,
                error: error.into(),
                number: "8613000000001".into(),
            };
            assert_eq!(of_report(&report), expected);
        }
    }

    #[test]
    fn what_is_not_served_is_refused_and_not_ignored() {
        let sgip = Sgip {
            version: crate::sgip::Version::V12,
            node: 1,
            time: 0,
        };
        let unknown = Body::Unknown {
            command: 0x0A,
            octets: Bytes::new(),
        };
        let (came, brought) = sgip.brought(&unknown).unwrap();
        assert_eq!(brought, Brought::Noted);
        let answer = Sgip::answer(came, CommandStatus::ESME_ROK);
        assert_eq!(answer.command(), 0x8000_000A);
        let (came, _) = sgip.brought(&Body::Bind(Bind::default())).unwrap();
        let Body::BindResp(resp) = Sgip::answer(came, CommandStatus::ESME_ROK) else {
            panic!("{came:?}");
        };
        assert_eq!(resp.result, status::AGAIN);
    }
}
