//! `smsc send --socket`: the same over the UNIX socket of `[local]`, without a password (`proto/smsc/local/v1`).
//!
//! One message goes to the SMSC as a whole, which divides it; its final state is asked for until it is there. Waits with
//! the timeouts of the socket: nothing else is to be done meanwhile.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bytes::{Bytes, BytesMut};
use prost::Message as _;

use super::compose::SendAlphabet;
use super::{SendArgs, text};
use crate::cli::client::print_line;
use crate::cli::exit::UndeliveredMessage;
use crate::decode::hex;
use crate::domain::state;
use crate::pb::local::draft::Content;
use crate::pb::local::from_smsc::What as Answer;
use crate::pb::local::to_smsc::What as Request;
use crate::pb::local::{
    self, Data, Draft, FromSmsc, Get, Hello, Submit, ToSmsc, put_frame, take_frame,
};

/// Longest frame that is taken from the SMSC.
const MAX_FRAME: usize = 4 * 1024 * 1024;
/// Between two questions for the final state: the first, and the longest pause.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A connection to the SMSC.
struct LocalConnection {
    socket: UnixStream,
    octets: BytesMut,
    /// Number of the last request.
    request: u64,
    until: Instant,
}

/// Sends and waits.
///
/// # Errors
/// The message cannot be sent, is refused, does not end in time, or was not delivered.
pub fn run(args: &SendArgs, path: &Path) -> anyhow::Result<()> {
    let draft = draft(args)?;
    let started = Instant::now();
    let mut connection = LocalConnection::open(path, started + args.timeout)?;
    let submit = Submit {
        messages: vec![draft],
        ..Submit::default()
    };
    let Answer::Submitted(submitted) = connection.ask(Request::Submit(submit))? else {
        bail!("the SMSC answers something else than was asked");
    };
    let outcome = submitted.outcomes.into_iter().next().unwrap_or_default();
    if let Some(refusal) = outcome.refusal {
        let said = format!("the SMSC refuses the message: {}", refusal.detail);
        return Err(UndeliveredMessage(said).into());
    }
    let elapsed = || started.elapsed().as_secs_f64() * 1000.0;
    let id = outcome.id;
    print_line(&format!(
        "accepted   {} as {id} in {:.1} ms",
        args.to,
        elapsed()
    ))?;
    if args.no_receipt {
        return Ok(());
    }
    let ended = connection.wait_for_the_end(id)?;
    let name = state::name(ended.state as u8);
    let done = jiff::Timestamp::from_millisecond(ended.ended_at).unwrap_or_default();
    let error = match ended.error.trim_start_matches('0') {
        "" => String::new(),
        error => format!(", error {error}"),
    };
    print_line(&format!(
        "{name:<10} {} after {:.1} ms, done {}{error}",
        args.to,
        elapsed(),
        done.strftime("%Y-%m-%d %H:%M:%S UTC"),
    ))?;
    match ended.state() {
        local::State::Delivered | local::State::Accepted => Ok(()),
        _ => {
            let said = format!("the message was not delivered: {name}{error}");
            Err(UndeliveredMessage(said).into())
        }
    }
}

fn draft(args: &SendArgs) -> anyhow::Result<Draft> {
    let given = text(args)?;
    let alphabet = match args.alphabet {
        None | Some(SendAlphabet::Binary) => local::Alphabet::Unspecified,
        Some(SendAlphabet::Gsm) => local::Alphabet::Gsm,
        Some(SendAlphabet::Ucs2) => local::Alphabet::Ucs2,
        Some(SendAlphabet::Latin1) => local::Alphabet::Latin1,
    };
    let content = match args.alphabet {
        Some(SendAlphabet::Binary) => Content::Data(Data {
            header: Bytes::new(),
            octets: hex::parse(&given)
                .context("--alphabet binary sends data, given as hexadecimal digits")?,
        }),
        _ => Content::Text(given),
    };
    Ok(Draft {
        to: args.to.clone(),
        from: args.from.clone(),
        alphabet: alphabet.into(),
        flash: args.flash,
        content: Some(content),
        ..Draft::default()
    })
}

// === impl LocalConnection ===

impl LocalConnection {
    /// Connects, and says hello.
    fn open(path: &Path, until: Instant) -> anyhow::Result<Self> {
        let socket = UnixStream::connect(path).with_context(|| {
            format!(
                "--socket: {} cannot be connected to; name the path of local.socket in the configuration of the \
                 server, and let local.mode allow this user to write it",
                path.display()
            )
        })?;
        let mut connection = Self {
            socket,
            octets: BytesMut::new(),
            request: 0,
            until,
        };
        let hello = Hello {
            version: local::VERSION,
            program: concat!("smsc send ", env!("CARGO_PKG_VERSION")).to_owned(),
            ..Hello::default()
        };
        match connection.ask(Request::Hello(hello))? {
            Answer::Welcome(_) => Ok(connection),
            _ => bail!("what answers there is no SMSC"),
        }
    }

    /// The answer to a request.
    ///
    /// # Errors
    /// The request failed, with the words of the SMSC; or the connection ended.
    fn ask(&mut self, request: Request) -> anyhow::Result<Answer> {
        self.request += 1;
        let mut octets = BytesMut::new();
        put_frame(&ToSmsc::new(self.request, request), &mut octets);
        // An SMSC that has hung up has said why: that is read below.
        let written = self.socket.write_all(&octets);
        loop {
            let Some(frame) = self.next_frame()? else {
                written.context("the connection broke")?;
                bail!("the SMSC closed the connection; see its log for the reason");
            };
            let frame = FromSmsc::decode(frame).context("what answers there is no SMSC")?;
            match frame.what {
                Some(Answer::Goodbye(goodbye)) => {
                    bail!("the SMSC ends the connection: {}", goodbye.detail)
                }
                Some(Answer::Failure(failure)) => bail!("the SMSC refuses: {}", failure.detail),
                Some(answer) if frame.request == self.request => return Ok(answer),
                _ => {}
            }
        }
    }

    /// `None` at the end of the connection.
    fn next_frame(&mut self) -> anyhow::Result<Option<Bytes>> {
        let mut piece = [0; 16 * 1024];
        loop {
            let taken = take_frame(&mut self.octets, MAX_FRAME);
            let Ok(taken) = taken else {
                bail!("what answers there is no SMSC");
            };
            if taken.is_some() {
                return Ok(taken);
            }
            let left = self.until.saturating_duration_since(Instant::now());
            let late = || {
                anyhow::anyhow!(
                    "nothing more was heard in time; wait longer with --timeout, or see what holds the message with \
                     `smsc queue list`"
                )
            };
            if left.is_zero() {
                return Err(late());
            }
            self.socket.set_read_timeout(Some(left))?;
            match self.socket.read(&mut piece) {
                Ok(0) => return Ok(None),
                Ok(read) => self.octets.extend_from_slice(&piece[..read]),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(late()),
                Err(error) => return Err(error).context("the connection broke"),
            }
        }
    }

    /// Asks for a message until it is final.
    #[expect(
        clippy::disallowed_methods,
        reason = "a command of one thread, with nothing else to do"
    )]
    fn wait_for_the_end(&mut self, id: u64) -> anyhow::Result<local::Message> {
        let mut pause = FIRST_PAUSE;
        loop {
            let Answer::Details(details) = self.ask(Request::Get(Get { id }))? else {
                bail!("the SMSC answers something else than was asked");
            };
            let message = details.message.unwrap_or_default();
            if message.ended_at != 0 {
                return Ok(message);
            }
            let left = self.until.saturating_duration_since(Instant::now());
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
