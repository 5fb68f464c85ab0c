//! A NATS server with a stream of commands and one of dead letters, played by the test: publishes commands, and says what
//! the consumer of a `[[nats_source]]` has left and what went to the dead letters.

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::Info;
use async_nats::jetstream::stream::Config;
use async_nats::jetstream::{self, Context};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::nats_login::Login;
use super::{PrivateNats, until};

const STREAM: &str = "SMS_DISPATCH";
const DEAD: &str = "DEAD";
/// Of the source that [`Dispatch::source`] writes.
const CONSUMER: &str = "smsc-up";

/// The server and its streams.
pub struct Dispatch {
    pub nats: PrivateNats,
    runtime: Runtime,
}

/// A dead letter.
#[derive(Debug)]
pub struct DeadLetter {
    pub id: String,
    pub reason: String,
    pub body: String,
}

// === impl Dispatch ===

impl Dispatch {
    pub fn start() -> Self {
        Self::with(Login::Nobody)
    }

    /// A server with a stream of commands, which requires this login.
    pub fn with(login: Login) -> Self {
        let dispatch = Self {
            nats: PrivateNats::of(&["sms.events.status"], login),
            runtime: Runtime::new().unwrap(),
        };
        dispatch.make_stream();
        dispatch.add_stream(DEAD, "sms.outbound.deadletter");
        dispatch
    }

    /// One more stream that takes in a subject.
    pub fn add_stream(&self, name: &str, subject: &str) {
        let config = Config {
            name: name.to_owned(),
            subjects: vec![subject.to_owned()],
            ..Config::default()
        };
        self.runtime.block_on(async {
            let stream = self.jetstream().await.get_or_create_stream(config).await;
            stream.unwrap();
        });
    }

    /// The source `up` of the account `test`, with more keys, as TOML lines.
    pub fn source(&self, keys: &str) -> String {
        format!(
            "[[nats_source]]\nname = 'up'\nservers = ['{}']\nsubject = 'smpp.operator.up'\naccount = 'test'\n\
             timeout = '2s'\n{keys}\n",
            self.nats.url()
        )
    }

    /// Publishes a command; returns when the stream has it.
    pub fn publish(&self, command: &Value) {
        self.publish_all(&[command.to_string().into_bytes()]);
    }

    /// Publishes these octets, all of them before their acknowledgements are awaited.
    pub fn publish_all(&self, bodies: &[Vec<u8>]) {
        self.publish_with(&[], bodies);
    }

    /// Publishes these octets with headers, all of them before their acknowledgements are awaited.
    pub fn publish_with(&self, headers: &[(&str, &str)], bodies: &[Vec<u8>]) {
        let mut map = HeaderMap::new();
        headers
            .iter()
            .for_each(|(name, value)| map.insert(*name, *value));
        self.runtime.block_on(async {
            let jetstream = self.jetstream().await;
            let mut sent = Vec::new();
            for body in bodies {
                let body = body.clone().into();
                let subject = "smpp.operator.up";
                let one = jetstream.publish_with_headers(subject, map.clone(), body);
                sent.push(one.await.unwrap());
            }
            for one in sent {
                one.await.unwrap();
            }
        });
    }

    /// The consumer, once it is there.
    pub fn consumer(&self) -> Info {
        until("the consumer", || {
            self.runtime.block_on(async {
                let stream = self.jetstream().await.get_stream(STREAM).await.ok()?;
                stream.consumer_info(CONSUMER).await.ok()
            })
        })
    }

    /// Deletes the consumer.
    pub fn delete_consumer(&self) {
        self.runtime.block_on(async {
            let stream = self.jetstream().await.get_stream(STREAM).await.unwrap();
            stream.delete_consumer(CONSUMER).await.unwrap();
        });
    }

    /// Deletes the stream of commands, and makes it again.
    pub fn make_anew(&self) {
        self.delete_stream();
        self.make_stream();
    }

    pub fn delete_stream(&self) {
        self.runtime.block_on(async {
            self.jetstream().await.delete_stream(STREAM).await.unwrap();
        });
    }

    pub fn make_stream(&self) {
        self.add_stream(STREAM, "smpp.operator.*");
    }

    /// Waits until every command is acknowledged or terminated.
    pub fn wait_until_done(&self) {
        until("every command to be acknowledged", || {
            let info = self.consumer();
            (info.num_pending == 0 && info.num_ack_pending == 0).then_some(())
        });
    }

    /// The dead letters, in their order.
    pub fn dead_letters(&self) -> Vec<DeadLetter> {
        self.runtime.block_on(async {
            let mut stream = self.jetstream().await.get_stream(DEAD).await.unwrap();
            let last = stream.info().await.unwrap().state.last_sequence;
            let mut all = Vec::new();
            for sequence in 1..=last {
                let message = stream.get_raw_message(sequence).await.unwrap();
                let header = |name: &str| message.headers.get(name).unwrap().to_string();
                all.push(DeadLetter {
                    id: header("Nats-Msg-Id"),
                    reason: header("Smsc-Reason"),
                    body: String::from_utf8_lossy(&message.payload).into_owned(),
                });
            }
            all
        })
    }

    async fn jetstream(&self) -> Context {
        jetstream::new(self.nats.connect().await.unwrap())
    }
}

/// A command with this id and recipient.
pub fn command(id: &str, to: &str) -> Value {
    json!({"version": "1.0", "messageId": id, "to": to, "from": "ACME", "text": format!("hello {id}")})
}

/// The number of the recipient of the n-th command of many.
pub fn recipient(n: usize) -> String {
    format!("4477009{n:05}")
}

/// So many commands, each to a recipient of its own.
pub fn commands(numbers: std::ops::Range<usize>) -> Vec<Vec<u8>> {
    let one = |n: usize| command(&format!("m-{n}"), &recipient(n));
    numbers.map(|n| one(n).to_string().into_bytes()).collect()
}
