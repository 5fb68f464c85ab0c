//! What people watch for a while, as JSON: the events of `POST /v1/traces`, and of the PDUs of a bind.

mod carriers;
mod programs;

use serde::{Deserialize, Serialize};

use super::time;
use crate::text;
use smsc_content::pdu::message_of;
use smsc_domain::address::printable;
use smsc_domain::command_status;
use smsc_proto as pb;
use smsc_smpp::{Body, CommandStatus, DataSm, Decoded, Header, Leniency, SubmitSm, decode};

/// The first event, `begun`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// When it ends by itself.
    pub until: Option<String>,
}

/// The event `steps`: what has happened since the one before, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Steps {
    pub steps: Vec<Step>,
    /// Steps that are not shown, because there were too many.
    pub missed: u64,
}

/// One step of a message, or one PDU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    pub at: Option<String>,
    /// The node that saw it.
    pub node: u32,
    /// `accepted`, `refused`, `attempt`, `receipt` for an attempt to deliver a receipt, `final`, or `pdu`.
    pub step: String,
    /// Null for a submission that was refused before it had an id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub from: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub to: String,
    /// Who brought the message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sender: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub queue: String,
    /// A command_status by name, `no answer`, or the final state.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// Which attempt it was; 0 for what is none.
    pub attempt: u32,
    pub latency_ms: u32,
    /// The other side of the bind; who reported the end, empty for this SMSC.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Only of a bind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pdu: Option<Pdu>,
}

/// One PDU of a bind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pdu {
    /// We have sent it.
    pub out: bool,
    /// As `submit_sm_resp`, or `CMPP_SUBMIT_RESP` of a bind over CMPP.
    pub command: String,
    pub sequence: u32,
    /// Octets.
    pub length: u32,
    /// What of it has an id: the message, in the words of this bind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message_id: String,
    /// The text; only when it is asked for, and null for what is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// All of it in hexadecimal, for `smsc decode`; only when it is asked for. The header alone of a bind, which has a
    /// password, and of a PDU of more than 4096 octets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub octets: Option<String>,
}

impl Steps {
    /// The steps for somebody who may see texts, or not.
    pub fn new(steps: Vec<pb::WatchedStep>, missed: u64, with_text: bool) -> Self {
        let steps = steps.into_iter();
        Self {
            steps: steps.map(|step| Step::new(step, with_text)).collect(),
            missed,
        }
    }
}

impl Step {
    fn new(step: pb::WatchedStep, with_text: bool) -> Self {
        let mut shown = Self {
            at: time(step.at_us / 1_000),
            node: step.node,
            step: step.step,
            message: (step.message != 0).then(|| step.message.to_string()),
            from: step.from,
            to: step.to,
            sender: step.sender,
            queue: step.queue,
            status: step.status,
            attempt: step.attempt,
            latency_ms: step.latency_ms,
            by: step.by,
            pdu: None,
        };
        if let Some(pdu) = step.pdu {
            shown.explain(&pdu, with_text);
        }
        shown
    }

    fn explain(&mut self, pdu: &pb::WatchedPdu, with_text: bool) {
        let read = match pdu.dialect() {
            pb::PduDialect::Local => programs::read(pdu),
            dialect => carriers::read(dialect, &pdu.octets),
        };
        if let Some(read) = read {
            self.pdu = Some(Pdu {
                out: pdu.out,
                command: read.command,
                sequence: read.sequence,
                length: read.length,
                message_id: read.message_id,
                text: (read.content).and_then(|content| text_of(content, with_text)),
                octets: with_text.then(|| text::hex(&pdu.octets)),
            });
            let status = read.status.map(|status| command_status::display(status.0));
            self.status = status.unwrap_or_default();
            return self.addresses(&read.from, &read.to);
        }
        let Some(header) = Header::parse(&pdu.octets) else {
            return;
        };
        let mut shown = Pdu {
            out: pdu.out,
            command: header.command_id.to_string(),
            sequence: header.sequence,
            length: header.length,
            octets: with_text.then(|| text::hex(&pdu.octets)),
            ..Pdu::default()
        };
        let is_response = header.command_id.is_response();
        if is_response || header.status != CommandStatus::ESME_ROK {
            self.status = command_status::display(header.status.0);
        }
        if let Decoded::Pdu(known) = decode(&pdu.octets, &Leniency::default()) {
            let id = |id: &[u8]| printable(id);
            match known.body {
                Body::SubmitSm(body) | Body::DeliverSm(body) => {
                    self.addresses(&body.source_addr, &body.destination_addr);
                    shown.text = text_of(body, with_text);
                }
                Body::DataSm(body) => {
                    self.addresses(&body.source_addr, &body.destination_addr);
                    shown.text = text_of(as_submit(body), with_text);
                }
                Body::SubmitMulti(body) => self.addresses(&body.source_addr, b""),
                Body::SubmitSmResp(body) | Body::DeliverSmResp(body) | Body::DataSmResp(body) => {
                    shown.message_id = id(&body.message_id);
                }
                Body::QuerySm(body) => shown.message_id = id(&body.message_id),
                Body::CancelSm(body) => shown.message_id = id(&body.message_id),
                Body::ReplaceSm(body) => shown.message_id = id(&body.message_id),
                _ => {}
            }
        }
        self.pdu = Some(shown);
    }

    fn addresses(&mut self, from: &[u8], to: &[u8]) {
        self.from = printable(from);
        self.to = printable(to);
    }
}

fn text_of(body: SubmitSm, with_text: bool) -> Option<String> {
    if with_text {
        text::of(&message_of(body, pb::Kind::Mt)).text
    } else {
        None
    }
}

/// What its text depends on.
fn as_submit(data: DataSm) -> SubmitSm {
    SubmitSm {
        esm_class: data.esm_class,
        data_coding: data.data_coding,
        tlvs: data.tlvs,
        ..SubmitSm::default()
    }
}

#[cfg(test)]
mod tests {
    use bytes::{Bytes, BytesMut};
    use smsc_smpp::{encode_submit_sm, encode_submit_sm_resp};

    use super::*;

    fn seen(octets: BytesMut, with_text: bool) -> Step {
        let step = pb::WatchedStep {
            step: "pdu".to_owned(),
            pdu: Some(pb::WatchedPdu {
                out: true,
                octets: octets.freeze(),
                dialect: pb::PduDialect::Smpp.into(),
            }),
            ..pb::WatchedStep::default()
        };
        Steps::new(vec![step], 0, with_text).steps.remove(0)
    }

    fn submit() -> BytesMut {
        let mut out = BytesMut::new();
        let body = SubmitSm {
            source_addr: Bytes::from_static(b"ACME"),
            destination_addr: Bytes::from_static(b"41791234567"),
            short_message: Bytes::from_static(b"hello"),
            ..SubmitSm::default()
        };
        encode_submit_sm(&mut out, 7, &body);
        out
    }

    #[test]
    fn a_pdu_is_explained() {
        let step = seen(submit(), true);
        let pdu = step.pdu.unwrap();
        assert_eq!((pdu.command.as_str(), pdu.sequence), ("submit_sm", 7));
        assert_eq!(
            (step.from.as_str(), step.to.as_str()),
            ("ACME", "41791234567")
        );
        assert_eq!(pdu.text.as_deref(), Some("hello"));
        assert!(pdu.octets.unwrap().contains(&text::hex(b"hello")));
    }

    #[test]
    fn texts_are_for_those_who_may_see_them() {
        let json = serde_json::to_string(&seen(submit(), false)).unwrap();
        assert!(
            !json.contains("hello") && !json.contains("octets"),
            "{json}"
        );
        assert!(!json.contains(&text::hex(b"hello")), "{json}");
    }

    #[test]
    fn a_header_alone_is_shown_as_such() {
        let whole = submit();
        let step = seen(BytesMut::from(&whole[..16]), true);
        assert_eq!(step.pdu.unwrap().command, "submit_sm");
        assert_eq!(step.to, "");
    }

    #[test]
    fn an_answer_says_what_it_answers() {
        let mut out = BytesMut::new();
        encode_submit_sm_resp(&mut out, 7, CommandStatus::ESME_ROK, b"abc");
        let step = seen(out, false);
        assert_eq!(step.status, "ESME_ROK");
        assert_eq!(step.pdu.unwrap().message_id, "abc");
    }
    #[test]
    fn a_pdu_of_a_carrier_is_explained_in_the_same_words() {
        use smsc_carrier::Protocol as _;
        use smsc_carrier::fields::{Content, Recipients, Widened};
        use smsc_cmpp::bodies::{MessageResp, Submit};
        use smsc_cmpp::{Body, Cmpp, Pdu};

        let seen = |body: Body| {
            let mut out = BytesMut::new();
            let pdu = Pdu { sequence: 9, body };
            Cmpp::V30.encode(&pdu, &mut out).unwrap();
            let step = pb::WatchedStep {
                pdu: Some(pb::WatchedPdu {
                    out: true,
                    octets: out.freeze(),
                    dialect: pb::PduDialect::Cmpp30.into(),
                }),
                ..pb::WatchedStep::default()
            };
            Steps::new(vec![step], 0, true).steps.remove(0)
        };
        let step = seen(Body::Submit(Box::new(Submit {
            src_id: "10655".into(),
            dest_terminal_id: Recipients(vec!["13800138000".into()]),
            msg_fmt: 8,
            msg_content: Content(Bytes::from_static(&[0x4F, 0x60])),
            ..Submit::default()
        })));
        let addresses = (step.from.as_str(), step.to.as_str());
        assert_eq!(addresses, ("10655", "13800138000"));
        let pdu = step.pdu.unwrap();
        assert_eq!((pdu.command.as_str(), pdu.sequence), ("CMPP_SUBMIT", 9));
        assert_eq!(
            (pdu.text.as_deref(), step.status.as_str()),
            (Some("你"), "")
        );
        let step = seen(Body::SubmitResp(MessageResp {
            msg_id: 77,
            result: Widened(8),
        }));
        assert_eq!(step.status, "ESME_RTHROTTLED");
        assert_eq!(step.pdu.unwrap().message_id, "77");
    }

    #[test]
    fn a_frame_of_a_local_program_is_explained_in_the_same_words() {
        use smsc_proto::local::{
            Delivered, FromSmsc, Short, ToPeer, ToSmsc, from_smsc, put_frame, to_smsc,
        };

        let seen = |out: bool, octets: BytesMut| {
            let step = pb::WatchedStep {
                pdu: Some(pb::WatchedPdu {
                    out,
                    octets: octets.freeze(),
                    dialect: pb::PduDialect::Local.into(),
                }),
                ..pb::WatchedStep::default()
            };
            Steps::new(vec![step], 0, true).steps.remove(0)
        };
        let short = Short {
            from: "12345".to_owned(),
            to: "447700900123".to_owned(),
            octets: Bytes::from(vec![b'x'; 300]),
            ..Short::default()
        };
        let to_peer = from_smsc::What::ToPeer(ToPeer {
            message: Some(short),
            receipt: true,
        });
        let mut whole = BytesMut::new();
        put_frame(&FromSmsc::new(200, to_peer), &mut whole);
        let length = whole.len() as u32;
        let cut = BytesMut::from(&whole[..16]);
        for (octets, to, text) in [(whole, "447700900123", Some(300)), (cut, "", None)] {
            let step = seen(true, octets);
            let pdu = step.pdu.unwrap();
            assert_eq!((&*pdu.command, pdu.sequence), ("ToPeer", 200));
            assert_eq!((pdu.length, &*step.to), (length, to));
            assert_eq!(pdu.text.map(|text| text.len()), text);
        }
        let delivered = to_smsc::What::Delivered(Delivered {
            id: "fax-1".to_owned(),
            later: true,
        });
        let mut octets = BytesMut::new();
        put_frame(&ToSmsc::new(200, delivered), &mut octets);
        let step = seen(false, octets);
        let pdu = step.pdu.unwrap();
        assert_eq!((&*pdu.command, &*pdu.message_id), ("Delivered", "fax-1"));
        assert_eq!(step.status, "ESME_ROK");
    }
}
