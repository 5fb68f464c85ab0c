//! Asks an OsmoHLR for IMSIs over its control interface (`smsc_gsup::ctrl`).
//!
//! One connection, made at the first question and made again after a pause, with several requests under
//! way on it; answers are matched by their number and must name the variable that was asked for. Called
//! by the resolver as one of its sources. Invariant: every question ends within the timeout, whatever the
//! peer does. Nothing here logs a number or an IMSI.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::source::{LookUpAnswer, LookUpSource, LookupError};
use crate::actors::runtime::locks::lock;
use crate::domain::address;
use crate::gsup::ctrl::{self, CtrlRefusal, CtrlReply, ImsiVariable};
use crate::gsup::ipa::{FRAME_MAX, next_frame};

/// Between a connection that is lost, or an attempt that failed, and the next attempt.
const PAUSE: Duration = Duration::from_secs(1);
/// Why a question ends that was not answered in time.
const LATE: &str = "no answer in time";
/// Questions that may wait for the task: more than `imsi.concurrency` may be.
const QUESTIONS: usize = 512;
/// Octets that are read at once.
const READ: usize = 4 * 1024;

/// Where the HLR is.
#[derive(Clone)]
pub struct ControlOptions {
    /// Host and port.
    pub address: String,
    /// For a connection, and for the answer to a question.
    pub timeout: Duration,
    /// Whether the HLR may answer so.
    pub is_answer: fn(&str) -> bool,
}

/// The control interface of an HLR.
pub struct Control {
    options: ControlOptions,
    /// To the task that has the connection.
    line: Mutex<Option<mpsc::Sender<ControlQuestion>>>,
}

/// A question, and who waits for its answer.
struct ControlQuestion {
    /// Digits.
    number: String,
    until: Instant,
    answer: oneshot::Sender<Result<String, LookupError>>,
}

/// A request that has been written.
struct ControlRequest {
    question: ControlQuestion,
    variable: ImsiVariable,
    name: String,
    at: Instant,
}

/// The requests of one connection.
struct Requests {
    is_answer: fn(&str) -> bool,
    variable: ImsiVariable,
    next_id: u32,
    under_way: HashMap<u32, ControlRequest, ahash::RandomState>,
    /// Until when each waits.
    in_time: BTreeSet<(Instant, u32)>,
    /// When the peer last sent something.
    heard: Instant,
    out: BytesMut,
}

// === impl Control ===

impl Control {
    /// Connects at the first question.
    pub fn new(options: ControlOptions) -> Self {
        Self {
            options,
            line: Mutex::default(),
        }
    }

    /// Gives a question to the task, which is started if it does not run.
    fn pass_on(&self, question: ControlQuestion) {
        let mut line = lock(&self.line);
        let sender = match line.take().filter(|sender| !sender.is_closed()) {
            Some(sender) => sender,
            None => {
                let (sender, questions) = mpsc::channel(QUESTIONS);
                let options = self.options.clone();
                let address: Arc<str> = options.address.clone().into();
                tokio::spawn(run(options, questions, move || dial(Arc::clone(&address))));
                sender
            }
        };
        // What cannot be sent is dropped, and its asker hears of that.
        let _ = sender.try_send(question);
        *line = Some(sender);
    }
}

impl LookUpSource for Control {
    fn name(&self) -> String {
        format!("the HLR {}", self.options.address)
    }

    fn ask(&self, number: &[u8]) -> LookUpAnswer {
        let digits = address::normalise(number);
        // An HLR has no names, and takes nothing but digits in a variable.
        if !address::is_digits(digits) {
            return Box::pin(std::future::ready(Ok(String::new())));
        }
        let (sender, answer) = oneshot::channel();
        self.pass_on(ControlQuestion {
            number: String::from_utf8_lossy(digits).into_owned(),
            until: Instant::now() + self.options.timeout,
            answer: sender,
        });
        Box::pin(async move {
            let gone = "its connection has ended".to_owned();
            answer.await.unwrap_or(Err(LookupError::Unreachable(gone)))
        })
    }
}

async fn dial(address: Arc<str>) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(&*address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Keeps a connection while there are questions; ends with their senders.
async fn run<S, D>(
    options: ControlOptions,
    mut questions: mpsc::Receiver<ControlQuestion>,
    mut connect: impl FnMut() -> D,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    D: Future<Output = io::Result<S>>,
{
    let mut first = questions.recv().await;
    while let Some(question) = first.take() {
        let connected = timeout(options.timeout, connect()).await;
        let why = match connected {
            Ok(Ok(stream)) => {
                let requests = Requests::new(options.is_answer, question);
                match serve(stream, requests, &mut questions).await {
                    Some(why) => why,
                    None => return,
                }
            }
            Ok(Err(error)) => {
                question.fail(&error.to_string());
                error.to_string()
            }
            Err(_) => {
                let why = format!("no connection within {:?}", options.timeout);
                question.fail(&why);
                why
            }
        };
        // Nobody waits for the pause to be over.
        let again = Instant::now() + PAUSE;
        while let Ok(question) = timeout_at(again, questions.recv()).await {
            match question {
                Some(question) => question.fail(&why),
                None => return,
            }
        }
        first = questions.recv().await;
    }
}

/// Serves one connection until it is lost; says why, or `None` when there will be no more questions.
async fn serve<S>(
    stream: S,
    mut requests: Requests,
    questions: &mut mpsc::Receiver<ControlQuestion>,
) -> Option<String>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut buffer = BytesMut::with_capacity(READ);
    let why = loop {
        let late = requests.first_late();
        tokio::select! {
            question = questions.recv() => match question {
                Some(question) => requests.ask(question),
                None => return None,
            },
            read = reader.read_buf(&mut buffer) => match read {
                Ok(0) => break "it has closed the connection".to_owned(),
                Ok(_) => if let Err(why) = requests.receive(&mut buffer) {
                    break why;
                },
                Err(error) => break error.to_string(),
            },
            written = writer.write_buf(&mut requests.out), if !requests.out.is_empty() => {
                if let Err(error) = written {
                    break error.to_string();
                }
            }
            () = sleep_until(late.unwrap_or_else(Instant::now)), if late.is_some() => {
                if requests.expire() {
                    break "it does not answer".to_owned();
                }
            }
        }
    };
    requests.fail_all(&why);
    Some(why)
}

// === impl ControlQuestion ===

impl ControlQuestion {
    fn end(self, answer: Result<String, LookupError>) {
        // Whoever asked may have given up.
        let _ = self.answer.send(answer);
    }

    fn fail(self, why: &str) {
        self.end(Err(LookupError::Unreachable(why.to_owned())));
    }
}

// === impl Requests ===

impl Requests {
    fn new(is_answer: fn(&str) -> bool, first: ControlQuestion) -> Self {
        let mut requests = Self {
            is_answer,
            variable: ImsiVariable::Imsi,
            next_id: 1,
            under_way: HashMap::default(),
            in_time: BTreeSet::new(),
            heard: Instant::now(),
            out: BytesMut::new(),
        };
        requests.ask(first);
        requests
    }

    fn ask(&mut self, question: ControlQuestion) {
        let now = Instant::now();
        if question.until <= now {
            return question.fail(LATE);
        }
        let id = self.next_id;
        self.next_id = id.checked_add(1).unwrap_or(1);
        let name = self.variable.name(&question.number);
        if ctrl::write_get(id, &name, &mut self.out).is_err() {
            let why = "the number is too long for a request".to_owned();
            return question.end(Err(LookupError::Unusable(why)));
        }
        self.in_time.insert((question.until, id));
        let asked = ControlRequest {
            question,
            variable: self.variable,
            name,
            at: now,
        };
        self.under_way.insert(id, asked);
    }

    /// Reads what has come.
    ///
    /// # Errors
    /// Why the connection cannot be used any more.
    fn receive(&mut self, buffer: &mut BytesMut) -> Result<(), String> {
        self.heard = Instant::now();
        loop {
            match next_frame(buffer, FRAME_MAX) {
                Ok(Some(frame)) => {
                    if let Some(reply) = ctrl::read(frame.stream, &frame.payload) {
                        self.answered(reply)?;
                    }
                }
                Ok(None) => return Ok(()),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn answered(&mut self, reply: CtrlReply<'_>) -> Result<(), String> {
        let id = match reply {
            CtrlReply::Value { id, .. } => id,
            CtrlReply::Error { id: Some(id), .. } => id,
            // It could not read a request, and does not say which.
            CtrlReply::Error { id: None, reason } => {
                return Err(format!("it understands no requests: {reason:?}"));
            }
        };
        // An answer after its time, or one that nobody has asked for.
        let Some(asked) = self.under_way.remove(&id) else {
            return Ok(());
        };
        self.in_time.remove(&(asked.question.until, id));
        match reply {
            CtrlReply::Value { variable, .. } if variable != asked.name => {
                let why = "it answers for another number".to_owned();
                asked.question.end(Err(LookupError::Unusable(why.clone())));
                return Err(why);
            }
            CtrlReply::Value { value, .. } => {
                let imsi = asked
                    .variable
                    .imsi(value)
                    .filter(|imsi| (self.is_answer)(imsi));
                let answer = imsi
                    .map(str::to_owned)
                    .ok_or_else(|| LookupError::Unusable("what it answers is no IMSI".to_owned()));
                asked.question.end(answer);
            }
            CtrlReply::Error { reason, .. } => match ctrl::refused(reason) {
                CtrlRefusal::NoSubscriber => asked.question.end(Ok(String::new())),
                CtrlRefusal::NoVariable if asked.variable == ImsiVariable::Imsi => {
                    self.variable = ImsiVariable::Info;
                    self.ask(asked.question);
                }
                CtrlRefusal::NoVariable | CtrlRefusal::Other => {
                    let why = format!("{:?}", address::printable(reason.as_bytes()));
                    asked.question.end(Err(LookupError::Unusable(why)));
                }
            },
        }
        Ok(())
    }

    /// Until when the first request waits.
    fn first_late(&self) -> Option<Instant> {
        self.in_time.first().map(|(until, _)| *until)
    }

    /// Ends requests whose time is over; true when nothing came since one of them was written.
    fn expire(&mut self) -> bool {
        let now = Instant::now();
        let mut is_silent = false;
        while self.first_late().is_some_and(|until| until <= now) {
            let Some((_, id)) = self.in_time.pop_first() else {
                break;
            };
            if let Some(asked) = self.under_way.remove(&id) {
                is_silent |= self.heard <= asked.at;
                asked.question.fail(LATE);
            }
        }
        is_silent
    }

    fn fail_all(&mut self, why: &str) {
        for (_, asked) in self.under_way.drain() {
            asked.question.fail(why);
        }
    }
}

#[cfg(test)]
mod tests;
