//! A program on the same machine, at the UNIX socket of an SMSC.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use bytes::BytesMut;
use prost::Message as _;
use smsc::pb::local::draft::Content;
use smsc::pb::local::{
    Done, Draft, FromSmsc, Hello, Outcome, Reason, Service, Submit, ToSmsc, VERSION, from_smsc,
    put_frame, take_frame, to_smsc,
};

use super::PATIENCE;

/// A connection.
pub struct Program {
    socket: UnixStream,
    octets: BytesMut,
    number: u64,
}

/// What a program is told: by the SMSC about a request, or at the end.
pub type Said = from_smsc::What;
/// What a program asks for.
pub type Asked = to_smsc::What;

/// A text for a number.
pub fn draft(to: &str, text: &str) -> Draft {
    Draft {
        to: to.to_owned(),
        from: "12345".to_owned(),
        content: Some(Content::Text(text.to_owned())),
        ..Draft::default()
    }
}

// === impl Program ===

impl Program {
    /// Connected, and has said nothing.
    pub fn connect(path: &Path) -> Self {
        let socket = UnixStream::connect(path).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self {
            socket,
            octets: BytesMut::new(),
            number: 0,
        }
    }

    /// Connected, with the answer to its Hello.
    pub fn greet(path: &Path, version: u32) -> (Self, Said) {
        let mut program = Self::connect(path);
        let hello = Hello {
            version,
            program: "harness".to_owned(),
            ..Hello::default()
        };
        let said = program.ask(Asked::Hello(hello)).expect("it is answered");
        (program, said)
    }

    /// Connected and welcomed.
    pub fn open(path: &Path) -> Self {
        match Self::greet(path, VERSION) {
            (program, Said::Welcome(_)) => program,
            (_, other) => panic!("{other:?}"),
        }
    }

    /// Connected with a role, with the answer to its Hello.
    pub fn apply(path: &Path, role: &str) -> (Self, Said) {
        let mut program = Self::connect(path);
        let hello = Hello {
            version: VERSION,
            program: "harness".to_owned(),
            role: role.to_owned(),
        };
        let said = program.ask(Asked::Hello(hello)).expect("it is answered");
        (program, said)
    }

    /// A handler whose service is up.
    pub fn handler(path: &Path, role: &str) -> Self {
        let (mut program, said) = Self::apply(path, role);
        assert!(matches!(said, Said::Welcome(_)), "{said:?}");
        program.is_up(true);
        program
    }

    /// Says whether the service of a handler is there.
    pub fn is_up(&mut self, is_up: bool) {
        let said = self.ask(Asked::Service(Service { is_up }));
        assert_eq!(said, Some(Said::Done(Done {})));
    }

    /// The next request to a handler.
    pub fn asked(&mut self) -> (u64, Said) {
        let frame = self.next().expect("a request");
        (frame.request, frame.what.expect("something is asked"))
    }

    /// The next request to a handler, if one comes in this time.
    pub fn asked_within(&mut self, time: Duration) -> Option<(u64, Said)> {
        if self.octets.is_empty() {
            self.socket.set_read_timeout(Some(time)).unwrap();
            let mut piece = [0; 4096];
            let read = self.socket.read(&mut piece);
            self.socket.set_read_timeout(Some(PATIENCE)).unwrap();
            match read {
                Ok(count) if count > 0 => self.octets.extend_from_slice(&piece[..count]),
                _ => return None,
            }
        }
        Some(self.asked())
    }

    /// Nothing is said for a while.
    pub fn hears_nothing(&mut self, quiet: Duration) {
        self.socket.set_read_timeout(Some(quiet)).unwrap();
        let read = self.socket.read(&mut [0; 1]);
        let kind = read.map_err(|error| error.kind());
        assert!(
            matches!(kind, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)),
            "{kind:?}"
        );
        self.socket.set_read_timeout(Some(PATIENCE)).unwrap();
    }

    /// Asks without waiting for the answer; the number of the request.
    pub fn request(&mut self, what: Asked) -> u64 {
        self.number += 1;
        self.answer(self.number, what);
        self.number
    }

    /// Answers a request.
    pub fn answer(&mut self, number: u64, what: Asked) {
        let mut octets = BytesMut::new();
        put_frame(&ToSmsc::new(number, what), &mut octets);
        self.socket.write_all(&octets).unwrap();
    }

    /// The answer to a request; `None` if the connection ends without it.
    pub fn ask(&mut self, what: Asked) -> Option<Said> {
        self.number += 1;
        let mut octets = BytesMut::new();
        put_frame(&ToSmsc::new(self.number, what), &mut octets);
        // What was said before the connection ended is read in any case.
        let _ = self.socket.write_all(&octets);
        loop {
            let said = self.next()?;
            let is_goodbye = matches!(said.what, Some(Said::Goodbye(_)));
            if said.request == self.number || is_goodbye {
                return said.what;
            }
        }
    }

    /// Writes octets as they are.
    pub fn write(&mut self, octets: &[u8]) {
        // The SMSC may have hung up already.
        let _ = self.socket.write_all(octets);
    }

    /// The next frame; `None` at the end of the connection.
    pub fn next(&mut self) -> Option<FromSmsc> {
        let mut piece = [0; 64 * 1024];
        loop {
            if let Some(frame) = take_frame(&mut self.octets, 16 << 20).unwrap() {
                return Some(FromSmsc::decode(frame).unwrap());
            }
            match self.socket.read(&mut piece) {
                Ok(0) => return None,
                Ok(read) => self.octets.extend_from_slice(&piece[..read]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("nothing is said: {error}"),
            }
        }
    }

    /// The reason and the words with which the SMSC ends the connection.
    pub fn is_parted(&mut self) -> (Reason, String) {
        let said = self.next().and_then(|frame| frame.what);
        let Some(Said::Goodbye(goodbye)) = said else {
            panic!("{said:?}");
        };
        assert_eq!(self.next(), None);
        (goodbye.reason(), goodbye.detail)
    }

    /// Submits messages, with a key if it is not empty.
    pub fn submit(&mut self, drafts: Vec<Draft>, key: &str) -> Option<Said> {
        self.ask(Asked::Submit(Submit {
            messages: drafts,
            idempotency_key: key.to_owned(),
            ..Submit::default()
        }))
    }

    /// What became of each draft.
    pub fn outcomes(&mut self, drafts: Vec<Draft>) -> Vec<Outcome> {
        match self.submit(drafts, "") {
            Some(Said::Submitted(submitted)) => submitted.outcomes,
            other => panic!("{other:?}"),
        }
    }

    /// Submits a message that is accepted; its id.
    pub fn send(&mut self, to: &str, text: &str) -> u64 {
        let outcomes = self.outcomes(vec![draft(to, text)]);
        assert!(outcomes[0].id > 0, "{outcomes:?}");
        outcomes[0].id
    }
}
