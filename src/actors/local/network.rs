//! The end of a GSM network's connection: an HLR to it, for whose subscribers a program delivers.
//!
//! Speaks GSUP with the interface, which is ours. At most one message of a subscriber is with the program.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::interval;

use super::ends::{Brought, Ends, Handled};
use crate::actors::session::server_end::{READ, TICK};
use crate::domain::gsm_result::RP_TEMPORARY_FAILURE;
use crate::gsup::message::{ALERT_MEMORY, ALERT_PRESENT, GsupMessage, RP_CAUSE_MAX, SmRpAddress};
use crate::gsup::message_type::MessageType;
use crate::gsup::session::{GsupEvent, GsupNotSent, GsupRole, GsupSession, GsupSessionConfig};
use crate::pb::local::{
    FromHandset, NotDelivered, Ready, Reason, ToHandset, from_smsc, not_delivered, to_smsc,
};
use crate::sms::tpdu::TpduAddress;

/// A silence on a pair of sockets means nothing.
const PATIENCE: Duration = Duration::from_secs(60);
/// Our name to the interface.
const NAME: &[u8] = b"LOCAL";
/// Longest TPDU (TS 23.040 §9.2.3: 164 octets), and then some: a frame of GSUP has room for no more.
const MAX_TPDU: usize = 255;

/// One connection.
struct Network<'e> {
    ends: &'e mut Ends,
    /// Requests to the interface have the number of the program's.
    session: GsupSession<u64>,
    out: BytesMut,
    /// What the program has, by subscriber.
    under_way: HashMap<String, GsupMessage>,
}

/// The answer for a subscriber; nothing when the program is gone.
type HandledFor = (String, Option<Handled>);

/// Serves a connection until it is over.
pub(super) async fn serve(mut stream: UnixStream, ends: &mut Ends) {
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
        ends,
        session,
        out,
        under_way: HashMap::new(),
    };
    let mut read = BytesMut::new();
    let mut answers = FuturesUnordered::new();
    let mut tick = interval(TICK);
    loop {
        if stream.write_all_buf(&mut network.out).await.is_err() {
            return;
        }
        read.reserve(READ);
        let goes_on = tokio::select! {
            octets = stream.read_buf(&mut read) => match octets {
                Ok(0) | Err(_) => false,
                Ok(_) => {
                    let (asked, goes_on) = network.on_octets(&read.split());
                    for (imsi, what) in asked {
                        let answer = network.ends.ask(what);
                        answers.push(async move { (imsi, answer.await.ok()) });
                    }
                    goes_on
                }
            },
            Some(handled) = answers.next(), if !answers.is_empty() => network.handled(handled),
            brought = network.ends.brought.recv() => match brought {
                Some(brought) => network.bring(brought),
                None => false,
            },
            _ = tick.tick() => network.tick(),
        };
        if !goes_on {
            return;
        }
    }
}

// === impl Network ===

impl Network<'_> {
    /// What the program is to deliver now, and whether the connection goes on.
    fn on_octets(&mut self, octets: &[u8]) -> (Vec<(String, from_smsc::What)>, bool) {
        let mut asked = Vec::new();
        self.session.receive(octets, Instant::now());
        while let Some(event) = self.session.next_event(&mut self.out) {
            match event {
                GsupEvent::Message(message) => asked.extend(self.on_message(*message)),
                GsupEvent::Answer(number, answer) => self.answered(number, &answer),
                GsupEvent::Ready(_) | GsupEvent::Malformed(_) => {}
                GsupEvent::Closed(_) => return (asked, false),
            }
        }
        (asked, true)
    }

    fn on_message(&mut self, request: GsupMessage) -> Option<(String, from_smsc::What)> {
        if request.message_type != MessageType::MT_FORWARD_SM_REQUEST {
            return None;
        }
        let imsi = request.imsi.clone();
        if self.under_way.contains_key(&imsi) {
            // The interface has given up the one before, and the program has not.
            self.refuse(&request, Some(RP_TEMPORARY_FAILURE), None);
            return None;
        }
        let smsc = match &request.originator {
            Some(SmRpAddress::ServiceCentre(address)) => address.text.clone(),
            _ => String::new(),
        };
        let what = from_smsc::What::ToHandset(ToHandset {
            imsi: imsi.clone(),
            smsc,
            tpdu: request.user_information.clone().unwrap_or_default(),
            more: request.more_messages.unwrap_or_default(),
        });
        self.under_way.insert(imsi.clone(), request);
        Some((imsi, what))
    }

    fn handled(&mut self, (imsi, handled): HandledFor) -> bool {
        let Some(request) = self.under_way.remove(&imsi) else {
            return true;
        };
        match handled {
            None => return false,
            Some(Handled::Delivered(_)) => {
                let name = Bytes::from_static(NAME);
                self.notify(&request.answer(MessageType::MT_FORWARD_SM_RESULT, &name));
            }
            Some(Handled::NotDelivered(NotDelivered { cause })) => {
                let (rp_cause, cause) = causes(cause);
                self.refuse(&request, rp_cause, cause);
            }
            Some(Handled::Failed) => {
                // What it says about that may repeat a number or a text.
                tracing::debug!("a program has not delivered a message");
                self.refuse(&request, Some(RP_TEMPORARY_FAILURE), None);
            }
        }
        true
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

    /// What the program has brought.
    fn bring(&mut self, Brought { number, what }: Brought) -> bool {
        let request = match what {
            to_smsc::What::FromHandset(brought) => match of_handset(brought) {
                Ok(request) => request,
                Err(detail) => {
                    self.ends.fail(number, Reason::BadValue, 0, detail);
                    return true;
                }
            },
            to_smsc::What::Ready(Ready { imsi, has_memory }) => GsupMessage {
                alert_reason: Some(if has_memory {
                    ALERT_MEMORY
                } else {
                    ALERT_PRESENT
                }),
                source_name: Some(Bytes::from_static(NAME)),
                reference: Some(0),
                ..GsupMessage::new(MessageType::READY_FOR_SM_REQUEST, imsi)
            },
            _ => {
                let detail = "a handler of this role has no such request";
                self.ends.fail(number, Reason::Unsupported, 0, detail);
                return true;
            }
        };
        let sent = self
            .session
            .send(&request, number, Instant::now(), &mut self.out);
        let (reason, detail) = match sent {
            Ok(()) => return true,
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
        self.ends.fail(number, reason, 0, detail);
        true
    }

    /// The interface has answered what the program has brought.
    fn answered(&mut self, number: u64, answer: &GsupMessage) {
        match answer.rp_cause {
            None if answer.message_type != MessageType::MO_FORWARD_SM_ERROR => {
                self.ends.done(number);
            }
            cause => {
                let cause = cause.unwrap_or(RP_TEMPORARY_FAILURE);
                let detail = format!("RP-cause {cause}");
                self.ends
                    .fail(number, Reason::Refused, cause.into(), &detail);
            }
        }
    }

    fn tick(&mut self) -> bool {
        let tick = self.session.on_tick(Instant::now(), &mut self.out);
        for number in tick.expired {
            self.ends.unanswered(number);
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
    let FromHandset {
        imsi,
        msisdn,
        smsc,
        reference,
        tpdu,
    } = brought;
    if tpdu.len() > MAX_TPDU {
        return Err("tpdu is longer than 255 octets");
    }
    let Ok(reference) = u8::try_from(reference) else {
        return Err("reference is above 255");
    };
    Ok(GsupMessage {
        reference: Some(reference),
        destination: Some(SmRpAddress::ServiceCentre(TpduAddress::international(smsc))),
        originator: Some(SmRpAddress::Msisdn(TpduAddress::international(msisdn))),
        user_information: Some(tpdu),
        source_name: Some(Bytes::from_static(NAME)),
        ..GsupMessage::new(MessageType::MO_FORWARD_SM_REQUEST, imsi)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
