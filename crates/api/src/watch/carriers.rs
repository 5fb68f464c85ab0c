//! PDUs of CMPP, SMGP and SGIP in the words of [`super::Pdu`]: results become statuses of SMPP, as everywhere else.

use bytes::Bytes;
use data_encoding::{HEXLOWER, HEXUPPER};
use smsc_carrier::fields::Varying;
use smsc_carrier::{Protocol as _, text};
use smsc_cmpp::Cmpp;
use smsc_proto::PduDialect;
use smsc_sgip::{Sgip, Version};
use smsc_smgp::Smgp;
use smsc_smpp::{CommandStatus, ESM_UDHI, SubmitSm};

/// What a PDU says that is not SMPP's.
#[derive(Default)]
pub(super) struct OtherPdu {
    pub command: String,
    pub sequence: u32,
    /// Octets of all of it.
    pub length: u32,
    pub status: Option<CommandStatus>,
    pub message_id: String,
    pub from: Bytes,
    /// The first recipient.
    pub to: Bytes,
    /// What its text depends on.
    pub content: Option<SubmitSm>,
}

/// Reads a PDU, or the header of one; `None` for what has none, and for what is not of a carrier.
pub(super) fn read(dialect: PduDialect, octets: &Bytes) -> Option<OtherPdu> {
    let word = |at: usize| {
        let octets = octets.get(at..at + 4)?;
        Some(u32::from_be_bytes(octets.try_into().ok()?))
    };
    let command = word(4)?;
    let (name, at, body) = match dialect {
        PduDialect::Smpp | PduDialect::Local => return None,
        PduDialect::Cmpp20 => (
            smsc_cmpp::Body::name_of(command),
            8,
            of_cmpp(Cmpp::V20, octets),
        ),
        PduDialect::Cmpp30 => (
            smsc_cmpp::Body::name_of(command),
            8,
            of_cmpp(Cmpp::V30, octets),
        ),
        PduDialect::Smgp => (smsc_smgp::Body::name_of(command), 8, of_smgp(octets)),
        PduDialect::Sgip => (smsc_sgip::Body::name_of(command), 16, of_sgip(octets)),
    };
    Some(OtherPdu {
        command: name.map_or_else(|| format!("{command:#010x}"), str::to_owned),
        sequence: word(at)?,
        length: word(0)?,
        ..body.unwrap_or_default()
    })
}

fn content(format: u8, content: &Bytes, has_header: bool) -> Option<SubmitSm> {
    let (data_coding, short_message) = text::for_smpp(format, content.clone(), has_header);
    Some(SubmitSm {
        data_coding,
        short_message,
        esm_class: if has_header { ESM_UDHI } else { 0 },
        ..SubmitSm::default()
    })
}

fn of_cmpp(version: Cmpp, octets: &Bytes) -> Option<OtherPdu> {
    use smsc_cmpp::{Body, Report, status};

    let status = |result: u32| Some(status::smpp(&status::SUBMIT, result));
    let none = OtherPdu::default();
    Some(match version.decode(octets).ok()?.body {
        Body::Submit(submit) => OtherPdu {
            from: submit.src_id.0,
            to: submit.dest_terminal_id.0.into_iter().next()?,
            content: content(submit.msg_fmt, &submit.msg_content.0, submit.tp_udhi != 0),
            ..none
        },
        Body::SubmitResp(resp) => OtherPdu {
            message_id: resp.msg_id.to_string(),
            status: status(resp.result.0),
            ..none
        },
        Body::Deliver(deliver) => {
            let Varying(from) = deliver.src_terminal_id;
            let is_report = deliver.registered_delivery != 0;
            let content_of = &deliver.msg_content.0;
            let report = Report::decode(content_of, version).ok();
            let report = report.filter(|_| is_report);
            let text = content(deliver.msg_fmt, content_of, deliver.tp_udhi & 1 != 0);
            OtherPdu {
                message_id: report.map_or_else(String::new, |report| report.msg_id.to_string()),
                from,
                to: deliver.dest_id.0,
                content: text.filter(|_| !is_report),
                ..none
            }
        }
        Body::DeliverResp(resp) => OtherPdu {
            message_id: resp.msg_id.to_string(),
            status: status(resp.result.0),
            ..none
        },
        _ => none,
    })
}

fn of_smgp(octets: &Bytes) -> Option<OtherPdu> {
    use smsc_smgp::{Body, Report, status};

    let status = |code: u32| Some(status::smpp(code));
    let none = OtherPdu::default();
    Some(match Smgp.decode(octets).ok()?.body {
        Body::Submit(submit) => OtherPdu {
            from: submit.src_term_id.0,
            to: submit.dest_term_id.0.into_iter().next()?,
            content: content(
                submit.msg_format,
                &submit.msg_content.0,
                submit.options.has_header(),
            ),
            ..none
        },
        Body::SubmitResp(resp) => OtherPdu {
            message_id: HEXUPPER.encode(&resp.msg_id.0),
            status: status(resp.status),
            ..none
        },
        Body::Deliver(deliver) => {
            let is_report = deliver.is_report != 0;
            let content_of = &deliver.msg_content.0;
            let report = Report::decode(content_of).filter(|_| is_report);
            let has_header = deliver.options.has_header();
            let text = content(deliver.msg_format, content_of, has_header);
            OtherPdu {
                message_id: report
                    .map_or_else(String::new, |report| HEXUPPER.encode(&report.msg_id)),
                from: deliver.src_term_id.0,
                to: deliver.dest_term_id.0,
                content: text.filter(|_| !is_report),
                ..none
            }
        }
        Body::DeliverResp(resp) => OtherPdu {
            message_id: HEXUPPER.encode(&resp.msg_id.0),
            status: status(resp.status),
            ..none
        },
        _ => none,
    })
}

fn of_sgip(octets: &Bytes) -> Option<OtherPdu> {
    use smsc_sgip::{Body, Sequence, status};

    let status = |result: u8| Some(status::smpp(result));
    let sgip = Sgip {
        version: Version::V12,
        node: 0,
        time: 0,
    };
    let none = OtherPdu::default();
    let id = |sequence: Sequence| HEXLOWER.encode(&sequence.octets());
    let pdu = sgip.decode(octets).ok()?;
    Some(match pdu.body {
        Body::Submit(submit) => OtherPdu {
            message_id: id(pdu.sequence),
            from: submit.sp_number.0,
            to: submit.user_number.0.into_iter().next()?,
            content: content(
                submit.message_coding,
                &submit.message_content.0,
                submit.tp_udhi & 1 != 0,
            ),
            ..none
        },
        Body::SubmitResp(resp) => OtherPdu {
            message_id: id(pdu.sequence),
            status: status(resp.result),
            ..none
        },
        Body::Deliver(deliver) => OtherPdu {
            from: deliver.user_number.0,
            to: deliver.sp_number.0,
            content: content(
                deliver.message_coding,
                &deliver.message_content.0,
                deliver.tp_udhi & 1 != 0,
            ),
            ..none
        },
        Body::Report(report) => OtherPdu {
            message_id: id(Sequence {
                node: report.submit_node,
                time: report.submit_time,
                counter: report.submit_counter,
            }),
            from: report.user_number.0,
            ..none
        },
        Body::DeliverResp(resp) => OtherPdu {
            status: status(resp.result),
            ..none
        },
        Body::ReportResp(resp) => OtherPdu {
            status: status(resp.result),
            ..none
        },
        _ => none,
    })
}
