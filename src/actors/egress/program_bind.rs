//! A bind at a program on the same machine: what [`BoundProtocol`] asks, in frames of `proto/smsc/local/v1`.
//!
//! It is to the session as SMPP's is: answers, reports and messages of the peer. The connection of the program (`actors/local`)
//! hands over what the program says, frame by frame, and writes what is written here. Invariants: the program has one message at
//! a time, also when the session has given up that one; what it brings is answered once, or fails when the session ends.

use std::collections::VecDeque;
use std::iter;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use prost::Message as _;

use super::operator_event::{BindEvent, BroughtContent, OperatorEvent};
use super::upstream_protocol::UpstreamPeer;
use crate::actors::receipts::said::OperatorReport;
use crate::actors::session::bound::{BoundProtocol, Encode, InFlight, LiveView};
use crate::actors::session::smpp_terms::{WINDOW, carrying, esm_class, wants_receipt};
use crate::config::OperatorConfig;
use crate::content::compose::LONGEST;
use crate::pb::PduDialect;
use crate::pb::local::from_smsc::What as Told;
use crate::pb::local::not_delivered::Cause;
use crate::pb::local::to_smsc::What as Said;
use crate::pb::local::{
    Done, Failure, FromPeer, FromSmsc, NotDelivered, Reason, Report, Short, ToPeer, ToSmsc,
    UNANSWERED, put_frame,
};
use crate::smpp::codec::BadCommandLength;
use crate::smpp::session::{BindType, CloseReason, SessionConfig, SessionState, Tick};
use crate::smpp::window::{LateWindow, Window};
use crate::smpp::{CommandStatus, SubmitSm};

/// Longest error of a receipt (SMPP 3.4 appendix B).
const MAX_ERROR: usize = 3;
/// Longest address (§5.2.8).
const MAX_ADDRESS: usize = 20;
/// Longest id of the program.
const MAX_ID: usize = 64;

/// See the file's documentation.
pub(super) struct ProgramBind {
    state: SessionState,
    /// Messages that wait for an answer, by the numbers of their frames.
    messages: LateWindow<InFlight>,
    /// The message that the program has not answered, whether somebody waits for that or not.
    at_program: Option<u32>,
    /// What the program has said, and was not looked at yet.
    said: VecDeque<ToSmsc>,
    /// What it has brought, by its number, until that is answered.
    brought: Window<u64>,
    /// What the session has not taken yet.
    events: VecDeque<BindEvent>,
}

// === impl ProgramBind ===

impl ProgramBind {
    pub(super) fn new(operator: &OperatorConfig) -> Self {
        let window = operator.most_unanswered() as usize;
        let mut brought = Window::new(WINDOW, SessionConfig::default().response_timeout);
        // An answer to what another session was brought is for nothing of this one.
        brought.start_at(rand::random::<u32>() >> 1);
        Self {
            state: SessionState::Open,
            messages: LateWindow::new(window, operator.response_timeout()),
            at_program: None,
            said: VecDeque::new(),
            brought,
            events: VecDeque::new(),
        }
    }

    fn on_frame(&mut self, ToSmsc { request, what }: ToSmsc, now: Instant, out: &mut BytesMut) {
        let (status, id) = match what {
            Some(Said::Report(report)) => {
                let content = report_of(report).map(BroughtContent::Report);
                return self.bring(request, content, now, out);
            }
            Some(Said::FromPeer(FromPeer { message })) => {
                let message = message.ok_or("a FromPeer needs a message");
                let content = message.and_then(message_of);
                let content = content.map(|deliver| BroughtContent::Message {
                    deliver: Box::new(deliver),
                    gbk: None,
                });
                return self.bring(request, content, now, out);
            }
            // An answer without an id is the end of a message: no report can name it.
            Some(Said::Delivered(delivered)) if delivered.later => {
                (CommandStatus::ESME_ROK, known_as(delivered.id))
            }
            Some(Said::Delivered(_)) => (CommandStatus::ESME_ROK, String::new()),
            Some(Said::NotDelivered(NotDelivered {
                cause: Some(Cause::CommandStatus(status)),
            })) if status != 0 => (CommandStatus(status), String::new()),
            _ => {
                // What it says about that may repeat a number or a text.
                tracing::debug!("a program has not delivered a message");
                (CommandStatus::ESME_RX_T_APPN, String::new())
            }
        };
        self.settle(request as u32, status, id);
    }

    /// Tells the session how a message went.
    fn settle(&mut self, number: u32, status: CommandStatus, id: String) {
        if self.at_program == Some(number) {
            self.at_program = None;
        }
        let messages = &mut self.messages;
        let settled = BindEvent::settled(messages, number, status, id.into(), false);
        self.events.extend(settled);
    }

    /// Takes a report or a message of the peer.
    fn bring(
        &mut self,
        number: u64,
        brought: Result<BroughtContent, &'static str>,
        now: Instant,
        out: &mut BytesMut,
    ) {
        let content = match brought {
            Ok(content) => content,
            Err(detail) => return fail(number, Reason::BadValue, 0, detail, out),
        };
        let is_taken = matches!(self.state, SessionState::Bound(bind_type) if bind_type.receives());
        let sequence = is_taken.then(|| self.brought.insert(now, number).ok());
        let Some(sequence) = sequence.flatten() else {
            let detail = "the session is not bound yet, or too much is under way";
            return fail(number, Reason::Unavailable, 0, detail, out);
        };
        let brought = BindEvent::Brought(sequence, content);
        self.events.push_back(brought);
    }
}

impl UpstreamPeer for ProgramBind {
    fn bind(&mut self, _: Instant, bind_type: BindType, _: &mut BytesMut) {
        self.state = SessionState::Bound(bind_type);
        let bound = BindEvent::BindResult(CommandStatus::ESME_ROK);
        self.events.push_back(bound);
    }

    fn hear(&mut self, frames: Vec<ToSmsc>) {
        self.said.extend(frames);
    }

    fn unbind(&mut self, _: Instant, _: &mut BytesMut) {
        if matches!(self.state, SessionState::Bound(_)) {
            self.state = SessionState::Closed;
            let unbound = BindEvent::Close(CloseReason::UnbindDone);
            self.events.push_back(unbound);
        }
    }

    fn answer(&mut self, sequence: u32, status: CommandStatus, out: &mut BytesMut) {
        let Some(entry) = self.brought.take(sequence) else {
            return;
        };
        if status.is_ok() {
            put_frame(&FromSmsc::new(entry.item, Told::Done(Done {})), out);
        } else {
            let detail = status.to_string();
            fail(entry.item, Reason::Refused, status.0, &detail, out);
        }
    }

    fn has_news(&self) -> bool {
        !self.said.is_empty() || !self.events.is_empty()
    }

    fn finish(&mut self) {
        self.state = SessionState::Closed;
    }
}

impl BoundProtocol for ProgramBind {
    type Event = OperatorEvent;

    fn dialect(&self) -> PduDialect {
        PduDialect::Local
    }

    fn state(&self) -> SessionState {
        self.state
    }

    fn messages(&self) -> &LateWindow<InFlight> {
        &self.messages
    }

    fn send(
        &mut self,
        now: Instant,
        context: InFlight,
        _: Encode,
        pdu: &mut SubmitSm,
        out: &mut BytesMut,
    ) -> bool {
        let has_room = self.room() > 0;
        let number = has_room.then(|| self.messages.insert(now, context).ok());
        let Some(number) = number.flatten() else {
            return false;
        };
        if self.at_program.is_some() {
            // The session has given up the one before, and the program has not.
            self.settle(number, CommandStatus::ESME_RX_T_APPN, String::new());
            return true;
        }
        self.at_program = Some(number);
        let to_peer = ToPeer {
            message: Some(short_of(pdu)),
            receipt: wants_receipt(pdu),
        };
        put_frame(&FromSmsc::new(number.into(), Told::ToPeer(to_peer)), out);
        true
    }

    fn next_event(
        &mut self,
        _: &mut BytesMut,
        now: Instant,
        out: &mut BytesMut,
        view: LiveView<'_>,
    ) -> Result<Option<OperatorEvent>, BadCommandLength> {
        while self.events.is_empty()
            && let Some(frame) = self.said.pop_front()
        {
            view.see(false, &frame.encode_length_delimited_to_vec());
            self.on_frame(frame, now, out);
        }
        Ok(self.events.pop_front().map(OperatorEvent::Bind))
    }

    fn on_tick(&mut self, now: Instant, out: &mut BytesMut) -> Tick<InFlight> {
        for (_, number) in self.brought.expire(now) {
            fail(number, Reason::Unavailable, 0, UNANSWERED, out);
        }
        let expired = iter::from_fn(|| self.messages.give_up(now)).collect();
        self.messages.forget(now);
        Tick {
            expired,
            close: None,
        }
    }

    fn take_lost(&mut self) -> Vec<InFlight> {
        self.state = SessionState::Closed;
        self.messages.take_all()
    }
}

/// Answers a request of the program that was not carried out.
fn fail(number: u64, reason: Reason, code: u32, detail: &str, out: &mut BytesMut) {
    let failure = Failure {
        code,
        ..Failure::new(reason, detail)
    };
    put_frame(&FromSmsc::new(number, Told::Failure(failure)), out);
}

/// A message for the peer.
fn short_of(message: &SubmitSm) -> Short {
    let text = |octets: &Bytes| String::from_utf8_lossy(octets).into_owned();
    Short {
        from: text(&message.source_addr),
        from_ton: message.source_addr_ton.into(),
        from_npi: message.source_addr_npi.into(),
        to: text(&message.destination_addr),
        to_ton: message.dest_addr_ton.into(),
        to_npi: message.dest_addr_npi.into(),
        esm_class: message.esm_class.into(),
        protocol_id: message.protocol_id.into(),
        data_coding: message.data_coding.into(),
        octets: message.payload(),
    }
}

/// The id of a program's own as the store has it, and a Report finds it again.
fn known_as(mut id: String) -> String {
    id.retain(|one| one.is_ascii_graphic());
    id.truncate(MAX_ID);
    id
}

/// What a report says, or what it lacks.
fn report_of(report: Report) -> Result<OperatorReport, &'static str> {
    let id = known_as(report.id);
    let state = u8::try_from(report.state).ok();
    let state = state.filter(|state| (1..=8).contains(state) && !id.is_empty());
    let state = state.ok_or("a Report needs the id of a message, and a state")?;
    let mut error = report.error;
    error.retain(|one| one.is_ascii_graphic());
    error.truncate(MAX_ERROR);
    let error = if error.is_empty() {
        Bytes::from_static(b"000")
    } else {
        Bytes::from(error)
    };
    Ok(OperatorReport {
        id: id.into(),
        state,
        error,
        number: Bytes::new(),
    })
}

/// What a program has brought as deliver_sm, or which field is wrong.
fn message_of(short: Short) -> Result<SubmitSm, &'static str> {
    let octet = |value: u32| u8::try_from(value).map_err(|_| "a number is above 255");
    let is_address = |text: &str| text.len() <= MAX_ADDRESS && !text.contains('\0');
    if !is_address(&short.from) || !is_address(&short.to) {
        return Err("from and to have at most 20 characters");
    }
    if short.octets.len() > LONGEST {
        return Err("octets are more than 60000");
    }
    let message = SubmitSm {
        source_addr_ton: octet(short.from_ton)?,
        source_addr_npi: octet(short.from_npi)?,
        source_addr: Bytes::from(short.from),
        dest_addr_ton: octet(short.to_ton)?,
        dest_addr_npi: octet(short.to_npi)?,
        destination_addr: Bytes::from(short.to),
        // Only reports are receipts.
        esm_class: octet(short.esm_class)? & esm_class(true),
        protocol_id: octet(short.protocol_id)?,
        data_coding: octet(short.data_coding)?,
        ..SubmitSm::default()
    };
    Ok(carrying(message, short.octets))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::actors::context::binds::BindPort;
    use crate::actors::test_support::{TestNode, node};
    use crate::pb::delivery::What;
    use crate::pb::local::{Delivered, Failed, take_frame};

    struct Scene {
        node: TestNode,
        port: Arc<BindPort>,
        bind: ProgramBind,
        out: BytesMut,
        now: Instant,
    }

    impl Scene {
        /// Bound to a program.
        async fn new(bind_type: BindType) -> Self {
            let operator = OperatorConfig {
                address: "local".to_owned(),
                ..OperatorConfig::default()
            };
            let mut scene = Self {
                node: node(1, None).await,
                port: BindPort::new(1, None),
                bind: ProgramBind::new(&operator),
                out: BytesMut::new(),
                now: Instant::now(),
            };
            scene.bind.bind(scene.now, bind_type, &mut scene.out);
            let event = scene.event();
            assert!(matches!(event, Some(BindEvent::BindResult(status)) if status.is_ok()));
            scene
        }

        fn event(&mut self) -> Option<BindEvent> {
            let view = LiveView {
                node: &self.node.context,
                port: &self.port,
                dialect: self.bind.dialect(),
            };
            let (octets, out) = (&mut BytesMut::new(), &mut self.out);
            let event = self.bind.next_event(octets, self.now, out, view);
            match event.expect("a program has no such error")? {
                OperatorEvent::Bind(event) => Some(event),
                _ => panic!("that is SMPP's"),
            }
        }

        fn send(&mut self, id: u64) {
            let context = InFlight {
                id,
                attempt: 1,
                what: What::Message,
                message: None,
                receipt_expected: false,
                since: 0,
                traced: None,
            };
            let encode: Encode = |_, _, _| panic!("nothing here is SMPP");
            let pdu = &mut SubmitSm::default();
            assert!((self.bind).send(self.now, context, encode, pdu, &mut self.out));
        }

        /// What the program is told.
        fn told(&mut self) -> Option<(u64, Told)> {
            let frame = take_frame(&mut self.out, usize::MAX).unwrap()?;
            let frame = FromSmsc::decode(frame).unwrap();
            Some((frame.request, frame.what.unwrap()))
        }

        fn says(&mut self, number: u64, what: Said) {
            self.bind.hear(vec![ToSmsc::new(number, what)]);
            assert!(self.bind.has_news());
        }

        /// The id, the status, the peer's id, and whether it is late.
        fn answered(&mut self) -> (u64, CommandStatus, Bytes, bool) {
            match self.event() {
                Some(BindEvent::Answered(one)) => {
                    (one.context.id, one.status, one.message_id, one.late)
                }
                _ => panic!("no answer"),
            }
        }

        fn brought(&mut self) -> u32 {
            match self.event() {
                Some(BindEvent::Brought(sequence, _)) => sequence,
                _ => panic!("nothing is brought"),
            }
        }
    }

    fn from_peer() -> Said {
        Said::FromPeer(FromPeer {
            message: Some(Short::default()),
        })
    }

    #[actix::test]
    async fn a_program_has_one_message_also_when_that_was_given_up() {
        let ok = CommandStatus::ESME_ROK;
        let mut scene = Scene::new(BindType::Transceiver).await;
        scene.send(7);
        assert_eq!(scene.bind.room(), 0);
        let Some((first, Told::ToPeer(_))) = scene.told() else {
            panic!("it is not told of it");
        };
        scene.now += scene.bind.messages().timeout();
        let tick = scene.bind.on_tick(scene.now, &mut scene.out);
        assert_eq!(tick.expired[0].id, 7);
        // It still has that one.
        scene.send(8);
        assert_eq!(scene.told(), None);
        let refused = (8, CommandStatus::ESME_RX_T_APPN, Bytes::new(), false);
        assert_eq!(scene.answered(), refused);
        let delivered = Delivered {
            id: "fax 1".to_owned(),
            later: true,
        };
        scene.says(first, Said::Delivered(delivered));
        let late = (7, ok, Bytes::from_static(b"fax1"), true);
        assert_eq!(scene.answered(), late);
        scene.send(9);
        let Some((number, Told::ToPeer(_))) = scene.told() else {
            panic!("it is not told of it");
        };
        scene.says(number, Said::Failed(Failed::default()));
        assert_eq!(scene.answered().1, CommandStatus::ESME_RX_T_APPN);
        // Without later, its id is none that a report could name.
        scene.send(10);
        let (number, _) = scene.told().unwrap();
        let delivered = Delivered {
            id: "fax 2".to_owned(),
            later: false,
        };
        scene.says(number, Said::Delivered(delivered));
        assert_eq!(scene.answered(), (10, ok, Bytes::new(), false));
        scene.send(11);
        let lost = scene.bind.take_lost();
        assert_eq!((lost.len(), lost[0].id, scene.bind.room()), (1, 11, 0));
    }

    #[actix::test]
    async fn what_a_program_brings_is_answered_once() {
        let failure = |told: Option<(u64, Told)>| match told {
            Some((number, Told::Failure(failure))) => (number, failure.reason(), failure.code),
            other => panic!("{other:?}"),
        };
        let mut scene = Scene::new(BindType::Transceiver).await;
        scene.says(1 << 40, from_peer());
        let sequence = scene.brought();
        for told in [Some((1 << 40, Told::Done(Done {}))), None] {
            let ok = CommandStatus::ESME_ROK;
            scene.bind.answer(sequence, ok, &mut scene.out);
            assert_eq!(scene.told(), told);
        }
        scene.says(2, from_peer());
        let sequence = scene.brought();
        let status = CommandStatus::ESME_RINVDSTADR;
        scene.bind.answer(sequence, status, &mut scene.out);
        assert_eq!(failure(scene.told()), (2, Reason::Refused, status.0));
        scene.says(3, Said::Report(Report::default()));
        assert!(scene.event().is_none());
        assert_eq!(failure(scene.told()), (3, Reason::BadValue, 0));
        // Nobody has answered in time.
        scene.says(4, from_peer());
        let sequence = scene.brought();
        scene.now += Duration::from_secs(60);
        scene.bind.on_tick(scene.now, &mut scene.out);
        assert_eq!(failure(scene.told()), (4, Reason::Unavailable, 0));
        scene.bind.answer(sequence, status, &mut scene.out);
        assert_eq!(scene.told(), None);

        let mut scene = Scene::new(BindType::Transmitter).await;
        scene.says(5, from_peer());
        assert!(scene.event().is_none());
        assert_eq!(failure(scene.told()), (5, Reason::Unavailable, 0));
    }

    #[test]
    fn a_report_names_a_message_as_it_was_taken() {
        let report = |id: &str, state| Report {
            id: id.to_owned(),
            state,
            error: "A 12345".to_owned(),
        };
        let long = "x".repeat(100);
        for id in ["fax 1", &long] {
            let said = report_of(report(id, 2)).unwrap();
            assert_eq!(said.id, known_as(id.to_owned()));
            assert_eq!((said.state, &said.error[..]), (2, &b"A12"[..]));
        }
        for (id, state) in [("", 2), (" ", 2), ("1", 0), ("1", 9), ("1", 300), ("1", -1)] {
            assert!(report_of(report(id, state)).is_err(), "{id:?} {state}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_not_cut() {
        let short = || Short {
            from: "447700900123".to_owned(),
            to: "12345".to_owned(),
            ..Short::default()
        };
        assert!(message_of(short()).is_ok());
        for (wrong, said) in [
            (
                Short {
                    from_ton: 257,
                    ..short()
                },
                "above 255",
            ),
            (
                Short {
                    data_coding: 256,
                    ..short()
                },
                "above 255",
            ),
            (
                Short {
                    to: "1".repeat(21),
                    ..short()
                },
                "20 characters",
            ),
            (
                Short {
                    from: "1\x002".to_owned(),
                    ..short()
                },
                "20 characters",
            ),
            (
                Short {
                    octets: vec![0; LONGEST + 1].into(),
                    ..short()
                },
                "60000",
            ),
        ] {
            let error = message_of(wrong).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
