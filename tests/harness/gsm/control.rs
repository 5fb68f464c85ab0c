//! The two consoles of Osmocom's programs: the control interface, a protocol for programs (OsmoHLR user
//! manual, "Osmocom Control Interface"), and the VTY, lines of text as by telnet.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bytes::BytesMut;

use crate::harness::PATIENCE;
use smsc::gsup::ipa;

/// The extension of the stream [`ipa::OSMO`] that is the control interface.
const CONTROL: u8 = 0x00;
/// How a program's VTY ends what it prints.
const PROMPT: &str = "> ";

/// A connection to a control interface.
pub struct Control {
    stream: TcpStream,
    read: BytesMut,
    requests: u32,
}

// === impl Control ===

impl Control {
    /// Connects.
    pub fn connect(address: SocketAddr) -> Self {
        Self {
            stream: connected(address).unwrap(),
            read: BytesMut::new(),
            requests: 0,
        }
    }

    /// The value of a variable, or what the program says against it.
    pub fn get(&mut self, variable: &str) -> Result<String, String> {
        self.ask("GET", variable)
    }

    /// Sets a variable.
    pub fn set(&mut self, variable: &str, value: &str) -> Result<String, String> {
        self.ask("SET", &format!("{variable} {value}"))
    }

    /// `GET 7 name` is answered by `GET_REPLY 7 name value` or by `ERROR 7 reason`.
    fn ask(&mut self, verb: &str, what: &str) -> Result<String, String> {
        self.requests += 1;
        let request = format!("{verb} {} {what}", self.requests);
        let mut out = BytesMut::new();
        ipa::write_frame(ipa::OSMO, &[&[CONTROL], request.as_bytes()], &mut out).unwrap();
        self.stream.write_all(&out).unwrap();
        let answer = self.next_text();
        let mut words = answer.splitn(3, ' ');
        let (kind, id) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let rest = words.next().unwrap_or("");
        assert_eq!(id, self.requests.to_string(), "{request} got: {answer}");
        match kind {
            "ERROR" => Err(rest.to_owned()),
            _ => Ok(rest
                .split_once(' ')
                .map_or("", |(_, value)| value)
                .to_owned()),
        }
    }

    fn next_text(&mut self) -> String {
        loop {
            // Answers may be long: they are not limited to a frame of GSUP.
            let frame = ipa::next_frame(&mut self.read, usize::from(u16::MAX)).unwrap();
            if let Some(frame) = frame {
                if frame.stream == ipa::OSMO && frame.payload.first() == Some(&CONTROL) {
                    return String::from_utf8_lossy(&frame.payload[1..]).into_owned();
                }
                continue;
            }
            let mut piece = [0; 4096];
            let count = self.stream.read(&mut piece).unwrap();
            assert!(count > 0, "the control interface was closed");
            self.read.extend_from_slice(&piece[..count]);
        }
    }
}

/// What a command prints on a VTY; `None` when it cannot be reached.
pub(super) fn vty(address: SocketAddr, command: &str) -> Option<String> {
    let mut stream = connected(address).ok()?;
    until_prompt(&mut stream)?;
    stream.write_all(format!("{command}\r\n").as_bytes()).ok()?;
    until_prompt(&mut stream)
}

fn until_prompt(stream: &mut TcpStream) -> Option<String> {
    let mut text = String::new();
    while !text.ends_with(PROMPT) {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        text.push_str(&String::from_utf8_lossy(&piece[..count]));
    }
    Some(text)
}

fn connected(address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
