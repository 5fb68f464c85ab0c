//! The end of a GSM network's connection: an HLR to it, for whose subscribers a program delivers.
//!
//! Speaks GSUP with the interface, which is ours. At most one message of a subscriber is with the program.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::interval;

use crate::actors::context::handlers::SessionEnd;
use crate::domain::gsm_result::RP_TEMPORARY_FAILURE;
use crate::gsup::message::{ALERT_MEMORY, ALERT_PRESENT, GsupMessage, RP_CAUSE_MAX, SmRpAddress};
use crate::gsup::message_type::MessageType;
use crate::gsup::session::{GsupEvent, GsupNotSent, GsupRole, GsupSession, GsupSessionConfig};
use crate::pb::local::{
    Done, Failure, FromHandset, FromSmsc, NotDelivered, Ready, Reason, ToHandset, ToSmsc,
    UNANSWERED, from_smsc, not_delivered, put_frame, to_smsc,
};
use crate::sms::tpdu::TpduAddress;

/// How often the clock is looked at.
const TICK: Duration = Duration::from_millis(500);
/// Octets that are read at once.
const READ: usize = 64 * 1024;
/// A silence on a pair of sockets means nothing.
const PATIENCE: Duration = Duration::from_secs(60);
/// Our name to the interface.
const NAME: &[u8] = b"LOCAL";
/// Longest TPDU (TS 23.040 §9.2.3: 164 octets), and then some: a frame of GSUP has room for no more.
const MAX_TPDU: usize = 255;

/// One connection.
struct Network {
    /// Requests to the interface have the number of the program's.
    session: GsupSession<u64>,
    out: BytesMut,
    /// Frames for the program.
    told: BytesMut,
    /// The number of the last question.
    last: u64,
    /// What the program has, by the numbers of the questions.
    under_way: HashMap<u64, GsupMessage>,
}

/// Serves a connection until it is over, or the program is gone.
pub(super) async fn serve(stream: std::os::unix::net::UnixStream, mut link: SessionEnd) {
    let Ok(mut stream) = UnixStream::from_std(stream) else {
        return;
    };
    let config = GsupSessionConfig {
        role: GsupRole::Server,
        name: Bytes::from_static(NAME),
        ping_every: PATIENCE,
        patience: PATIENCE,
        request_timeout: PATIENCE,
        late: Duration::ZERO,
        window: usize::MAX,
    };
    let mut out = BytesMut::new();
    let session = GsupSession::new(config, Instant::now(), &mut out);
    let mut network = Network {
        session,
        out,
        told: BytesMut::new(),
        last: 0,
        under_way: HashMap::new(),
    };
    let mut read = BytesMut::new();
    let mut tick = interval(TICK);
    loop {
        if !network.told.is_empty() && link.told.send(network.told.split().freeze()).await.is_err()
            || stream.write_all_buf(&mut network.out).await.is_err()
        {
            return;
        }
        read.reserve(READ);
        let goes_on = tokio::select! {
            octets = stream.read_buf(&mut read) => {
                octets.is_ok_and(|count| count > 0) && network.on_octets(&read.split())
            }
            said = link.said.recv() => said.map(|said| network.on_said(said)).is_some(),
            _ = tick.tick() => network.tick(),
        };
        if !goes_on {
            return;
        }
    }
}

// === impl Network ===

impl Network {
    /// Whether the connection goes on.
    fn on_octets(&mut self, octets: &[u8]) -> bool {
        self.session.receive(octets, Instant::now());
        while let Some(event) = self.session.next_event(&mut self.out) {
            match event {
                GsupEvent::Message(message) => self.on_message(*message),
                GsupEvent::Answer(number, answer) => self.answered(number, &answer),
                GsupEvent::Ready(_) | GsupEvent::Malformed(_) => {}
                GsupEvent::Closed(_) => return false,
            }
        }
        true
    }

    /// Has the program deliver it.
    fn on_message(&mut self, request: GsupMessage) {
        if request.message_type != MessageType::MT_FORWARD_SM_REQUEST {
            return;
        }
        if self.under_way.values().any(|one| one.imsi == request.imsi) {
            // The interface has given up the one before, and the program has not.
            return self.refuse(&request, Some(RP_TEMPORARY_FAILURE), None);
        }
        let smsc = match &request.originator {
            Some(SmRpAddress::ServiceCentre(address)) => address.text.clone(),
            _ => String::new(),
        };
        let to_handset = from_smsc::What::ToHandset(ToHandset {
            imsi: request.imsi.clone(),
            smsc,
            tpdu: request.user_information.clone().unwrap_or_default(),
            more: request.more_messages.unwrap_or_default(),
        });
        self.last += 1;
        self.under_way.insert(self.last, request);
        self.tell(self.last, to_handset);
    }

    fn tell(&mut self, number: u64, what: from_smsc::What) {
        put_frame(&FromSmsc::new(number, what), &mut self.told);
    }

    fn fail(&mut self, number: u64, reason: Reason, code: u8, detail: impl Into<String>) {
        let failure = from_smsc::What::Failure(Failure {
            code: code.into(),
            ..Failure::new(reason, detail)
        });
        self.tell(number, failure);
    }

    /// The program has answered, or brings something.
    fn on_said(&mut self, ToSmsc { request, what }: ToSmsc) {
        let brought = match what {
            Some(to_smsc::What::FromHandset(brought)) => of_handset(brought),
            Some(to_smsc::What::Ready(Ready { imsi, has_memory })) => Ok(GsupMessage {
                alert_reason: Some(if has_memory {
                    ALERT_MEMORY
                } else {
                    ALERT_PRESENT
                }),
                source_name: Some(Bytes::from_static(NAME)),
                reference: Some(0),
                ..GsupMessage::new(MessageType::READY_FOR_SM_REQUEST, imsi)
            }),
            answer => return self.handled(request, answer),
        };
        match brought {
            Ok(brought) => self.bring(request, &brought),
            Err(detail) => self.fail(request, Reason::BadValue, 0, detail),
        }
    }

    fn handled(&mut self, number: u64, answer: Option<to_smsc::What>) {
        let Some(request) = self.under_way.remove(&number) else {
            return;
        };
        match answer {
            Some(to_smsc::What::Delivered(_)) => {
                let name = Bytes::from_static(NAME);
                self.notify(&request.answer(MessageType::MT_FORWARD_SM_RESULT, &name));
            }
            Some(to_smsc::What::NotDelivered(NotDelivered { cause })) => {
                let (rp_cause, cause) = causes(cause);
                self.refuse(&request, rp_cause, cause);
            }
            _ => {
                // What it says about that may repeat a number or a text.
                tracing::debug!("a program has not delivered a message");
                self.refuse(&request, Some(RP_TEMPORARY_FAILURE), None);
            }
        }
    }

    fn refuse(&mut self, request: &GsupMessage, rp_cause: Option<u8>, cause: Option<u8>) {
        let name = Bytes::from_static(NAME);
        let answer = request.answer(MessageType::MT_FORWARD_SM_ERROR, &name);
        self.notify(&GsupMessage {
            rp_cause,
            cause,
            ..answer
        });
    }

    fn notify(&mut self, message: &GsupMessage) {
        if let Err(error) = self.session.notify(message, &mut self.out) {
            tracing::warn!(%error, "an answer of a program cannot be written");
        }
    }

    fn bring(&mut self, number: u64, brought: &GsupMessage) {
        let sent = (self.session).send(brought, number, Instant::now(), &mut self.out);
        let (reason, detail) = match sent {
            Ok(()) => return,
            Err(GsupNotSent::Busy(_)) => (
                Reason::Conflict,
                "a request for this subscriber is under way",
            ),
            Err(GsupNotSent::Unwritable(..)) => {
                (Reason::BadValue, "imsi, msisdn or smsc are no numbers")
            }
            Err(GsupNotSent::NotReady(_) | GsupNotSent::Full(_)) => {
                (Reason::Unavailable, "the interface is not up yet")
            }
        };
        self.fail(number, reason, 0, detail);
    }

    /// The interface has answered what the program has brought.
    fn answered(&mut self, number: u64, answer: &GsupMessage) {
        match answer.rp_cause {
            None if answer.message_type != MessageType::MO_FORWARD_SM_ERROR => {
                self.tell(number, from_smsc::What::Done(Done {}));
            }
            cause => {
                let cause = cause.unwrap_or(RP_TEMPORARY_FAILURE);
                self.fail(number, Reason::Refused, cause, format!("RP-cause {cause}"));
            }
        }
    }

    fn tick(&mut self) -> bool {
        let tick = self.session.on_tick(Instant::now(), &mut self.out);
        for number in tick.expired {
            self.fail(number, Reason::Unavailable, 0, UNANSWERED);
        }
        tick.closed.is_none()
    }
}

/// RP-cause and GMM cause of a refusal; what is none is a temporary failure.
fn causes(cause: Option<not_delivered::Cause>) -> (Option<u8>, Option<u8>) {
    let octet = |value: u32| u8::try_from(value).ok();
    let known = match cause {
        Some(not_delivered::Cause::RpCause(cause)) => octet(cause)
            .filter(|cause| *cause <= RP_CAUSE_MAX)
            .map(|cause| (Some(cause), None)),
        Some(not_delivered::Cause::GmmCause(cause)) => {
            octet(cause).map(|cause| (None, Some(cause)))
        }
        Some(not_delivered::Cause::CommandStatus(_)) | None => None,
    };
    known.unwrap_or((Some(RP_TEMPORARY_FAILURE), None))
}

/// MO-forwardSM, or which field is wrong.
fn of_handset(brought: FromHandset) -> Result<GsupMessage, &'static str> {
    if brought.tpdu.len() > MAX_TPDU {
        return Err("tpdu is longer than 255 octets");
    }
    let Ok(reference) = u8::try_from(brought.reference) else {
        return Err("reference is above 255");
    };
    let number = TpduAddress::international;
    Ok(GsupMessage {
        reference: Some(reference),
        destination: Some(SmRpAddress::ServiceCentre(number(brought.smsc))),
        originator: Some(SmRpAddress::Msisdn(number(brought.msisdn))),
        user_information: Some(brought.tpdu),
        source_name: Some(Bytes::from_static(NAME)),
        ..GsupMessage::new(MessageType::MO_FORWARD_SM_REQUEST, brought.imsi)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream as Socket;

    use prost::Message as _;

    use super::*;
    use crate::actors::context::handlers;
    use crate::pb::local::{Delivered, take_frame};

    const IMSI: &str = "001010000000001";
    const OTHER: &str = "001010000000002";

    /// Both others: the interface and the program.
    struct Scene {
        stream: UnixStream,
        session: GsupSession<u32>,
        out: BytesMut,
        said: tokio::sync::mpsc::Sender<ToSmsc>,
        told: tokio::sync::mpsc::Receiver<Bytes>,
        frames: BytesMut,
    }

    impl Scene {
        fn new() -> Self {
            let (near, far) = Socket::pair().unwrap();
            near.set_nonblocking(true).unwrap();
            far.set_nonblocking(true).unwrap();
            let (end, (said, told)) = handlers::ends();
            actix::spawn(serve(far, end));
            let config = GsupSessionConfig {
                role: GsupRole::Client,
                name: Bytes::from_static(b"SMSC"),
                ping_every: PATIENCE,
                patience: PATIENCE,
                request_timeout: PATIENCE,
                late: Duration::ZERO,
                window: 10,
            };
            let mut out = BytesMut::new();
            Self {
                stream: UnixStream::from_std(near).unwrap(),
                session: GsupSession::new(config, Instant::now(), &mut out),
                out,
                said,
                told,
                frames: BytesMut::new(),
            }
        }

        /// What the interface hears.
        async fn event(&mut self) -> GsupEvent<u32> {
            loop {
                let event = self.session.next_event(&mut self.out);
                self.stream.write_all_buf(&mut self.out).await.unwrap();
                if let Some(event) = event {
                    return event;
                }
                let mut octets = BytesMut::new();
                assert!(self.stream.read_buf(&mut octets).await.unwrap() > 0);
                self.session.receive(&octets, Instant::now());
            }
        }

        async fn send(&mut self, imsi: &str, number: u32) {
            let address = || TpduAddress::international("49160000");
            let message = GsupMessage {
                reference: Some(0xFF),
                destination: Some(SmRpAddress::Imsi(imsi.to_owned())),
                originator: Some(SmRpAddress::ServiceCentre(address())),
                user_information: Some(Bytes::from_static(b"\x04")),
                ..GsupMessage::new(MessageType::MT_FORWARD_SM_REQUEST, imsi)
            };
            let (now, out) = (Instant::now(), &mut self.out);
            self.session.send(&message, number, now, out).unwrap();
            self.stream.write_all_buf(&mut self.out).await.unwrap();
        }

        /// What the program hears.
        async fn told(&mut self) -> (u64, from_smsc::What) {
            loop {
                if let Some(frame) = take_frame(&mut self.frames, usize::MAX).unwrap() {
                    let frame = FromSmsc::decode(frame).unwrap();
                    return (frame.request, frame.what.unwrap());
                }
                let frames = self.told.recv().await.expect("it is open");
                self.frames.extend_from_slice(&frames);
            }
        }

        async fn says(&self, number: u64, what: to_smsc::What) {
            self.said.send(ToSmsc::new(number, what)).await.unwrap();
        }

        async fn answer(&mut self) -> (u32, Option<u8>) {
            match self.event().await {
                GsupEvent::Answer(number, answer) => (number, answer.rp_cause),
                other => panic!("{other:?}"),
            }
        }
    }

    #[actix::test]
    async fn an_interface_and_a_program_hear_one_another() {
        let mut scene = Scene::new();
        assert!(matches!(scene.event().await, GsupEvent::Ready(None)));
        // Several subscribers at a time.
        for (imsi, number) in [(IMSI, 1), (OTHER, 2)] {
            scene.send(imsi, number).await;
            let (asked, what) = scene.told().await;
            let from_smsc::What::ToHandset(to_handset) = what else {
                panic!("{what:?}");
            };
            assert_eq!((asked, &*to_handset.imsi), (number.into(), imsi));
            assert_eq!(to_handset.smsc, "49160000");
        }
        let delivered = to_smsc::What::Delivered(Delivered::default());
        let refused = to_smsc::What::NotDelivered(NotDelivered {
            cause: Some(not_delivered::Cause::RpCause(27)),
        });
        for (asked, said, rp_cause) in [(2, refused, Some(27)), (1, delivered, None)] {
            scene.says(asked, said).await;
            assert_eq!(scene.answer().await, (asked as u32, rp_cause));
        }
        // What it brings is answered.
        let ready = |imsi: &str| {
            to_smsc::What::Ready(Ready {
                imsi: imsi.to_owned(),
                has_memory: true,
            })
        };
        scene.says(7, ready(IMSI)).await;
        let GsupEvent::Message(request) = scene.event().await else {
            panic!("nothing is brought");
        };
        assert_eq!(request.alert_reason, Some(ALERT_MEMORY));
        let name = Bytes::from_static(b"SMSC");
        let answer = request.answer(request.message_type.result(), &name);
        scene.session.notify(&answer, &mut scene.out).unwrap();
        scene.stream.write_all_buf(&mut scene.out).await.unwrap();
        assert_eq!(scene.told().await, (7, from_smsc::What::Done(Done {})));
        let wrong = to_smsc::What::FromHandset(FromHandset {
            reference: 256,
            ..FromHandset::default()
        });
        scene.says(8, wrong).await;
        match scene.told().await {
            (8, from_smsc::What::Failure(failure)) => {
                assert_eq!(failure.reason(), Reason::BadValue);
            }
            other => panic!("{other:?}"),
        }
        // The interface goes away, and its end with it.
        drop(scene.stream);
        assert_eq!(scene.told.recv().await, None);
    }

    #[test]
    fn a_cause_that_is_none_is_a_temporary_failure() {
        use not_delivered::Cause::{CommandStatus, GmmCause, RpCause};
        let failure = (Some(RP_TEMPORARY_FAILURE), None);
        for (cause, expected) in [
            (Some(RpCause(27)), (Some(27), None)),
            (Some(RpCause(128)), failure),
            (Some(RpCause(300)), failure),
            (Some(GmmCause(2)), (None, Some(2))),
            (Some(GmmCause(300)), failure),
            (Some(CommandStatus(8)), failure),
            (None, failure),
        ] {
            assert_eq!(causes(cause), expected, "{cause:?}");
        }
    }
}
