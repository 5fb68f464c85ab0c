//! A receiver of callbacks that the test plays itself: it keeps what comes, and answers as it is told.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use super::{Certificate, listen, until};

/// One callback as it came.
#[derive(Debug, Clone)]
pub struct Hook {
    pub method: String,
    /// With its query.
    pub path: String,
    /// By name, in lower case.
    pub headers: HashMap<String, String>,
    pub octets: Vec<u8>,
}

/// What is answered.
#[derive(Debug, Clone)]
pub enum HookReply {
    /// A status, with more headers, each with its line end.
    Status(u16, String),
    /// 200 and this body.
    Text(&'static str),
    /// 200 and this body, made for the request.
    Body(String),
    /// After this time.
    Slow(Duration),
    /// 200 and a body without an end.
    Endless,
    /// The connection ends before any answer.
    Nothing,
}

type Answer = dyn Fn(&Hook, usize) -> HookReply + Send + Sync;

/// Listens on a port of its own until the test ends.
pub struct Hooks {
    address: SocketAddr,
    came: Arc<Mutex<Vec<Hook>>>,
    /// The other ends of the connections that are being served.
    open: Arc<Mutex<HashSet<SocketAddr>>>,
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

// === impl Hook ===

impl Hook {
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.unwrap_or_else(|| panic!("no {name} in {:?}", self.headers))
    }

    pub fn id(&self) -> &str {
        self.header("webhook-id")
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.octets).unwrap()
    }
}

// === impl HookReply ===

impl HookReply {
    pub fn ok() -> Self {
        Self::Status(200, String::new())
    }

    pub fn status(status: u16) -> Self {
        Self::Status(status, String::new())
    }

    /// Whether another request may follow on the connection.
    fn write(self, stream: &mut dyn Stream) -> bool {
        let ok = || "ok".to_owned();
        let (status, headers, body) = match self {
            Self::Status(status, headers) => (status, headers, ok()),
            Self::Text(body) => (200, String::new(), body.to_owned()),
            Self::Body(body) => (200, String::new(), body),
            Self::Slow(time) => {
                thread::sleep(time);
                (200, String::new(), ok())
            }
            Self::Endless => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                while stream.write_all(&[b'x'; 8192]).is_ok() {}
                return false;
            }
            Self::Nothing => return false,
        };
        let length = body.len();
        let answer =
            format!("HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
        stream.write_all(answer.as_bytes()).is_ok()
    }
}

// === impl Hooks ===

impl Hooks {
    /// Takes everything.
    pub fn taking() -> Self {
        Self::answering(|_, _| HookReply::ok())
    }

    /// Takes everything, from now on, at a port that was free before.
    pub fn taking_at(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        Self::open(listener, None, Arc::new(|_, _| HookReply::ok()))
    }

    /// Answers by the callback and how many came before it.
    pub fn answering(answer: impl Fn(&Hook, usize) -> HookReply + Send + Sync + 'static) -> Self {
        Self::open(listen(), None, Arc::new(answer))
    }

    /// Takes everything, by HTTPS with this certificate.
    pub fn with_tls(certificate: &Certificate) -> Self {
        let chain =
            vec![CertificateDer::from_pem_slice(certificate.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(certificate.key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        Self::open(
            listen(),
            Some(Arc::new(config)),
            Arc::new(|_, _| HookReply::ok()),
        )
    }

    fn open(listener: TcpListener, tls: Option<Arc<ServerConfig>>, answer: Arc<Answer>) -> Self {
        let hooks = Self {
            address: listener.local_addr().unwrap(),
            came: Arc::default(),
            open: Arc::default(),
        };
        let (came, open) = (Arc::clone(&hooks.came), Arc::clone(&hooks.open));
        thread::spawn(move || {
            let connections = std::iter::repeat_with(|| listener.accept()).flatten();
            for (socket, peer) in connections {
                let (tls, came) = (tls.clone(), Arc::clone(&came));
                let (answer, open) = (Arc::clone(&answer), Arc::clone(&open));
                open.lock().unwrap().insert(peer);
                thread::spawn(move || {
                    serve(socket, tls, &came, &*answer);
                    open.lock().unwrap().remove(&peer);
                });
            }
        });
        hooks
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL by the name of a host.
    pub fn url(&self, host: &str) -> String {
        format!("http://{host}:{}/hook", self.address.port())
    }

    /// Everything that came so far.
    pub fn came(&self) -> Vec<Hook> {
        self.came.lock().unwrap().clone()
    }

    /// Waits until everything has come that senders had under way when they were killed: no connection is open.
    pub fn wait_until_idle(&self) {
        // Connections are accepted in their order: those of the senders came before this one.
        let last = TcpStream::connect(self.address).unwrap();
        let own = last.local_addr().unwrap();
        let is_open = |peer: &SocketAddr| self.open.lock().unwrap().contains(peer);
        until("earlier connections to be accepted", || {
            is_open(&own).then_some(())
        });
        drop(last);
        until("all connections to end", || {
            self.open.lock().unwrap().is_empty().then_some(())
        });
    }

    /// Waits until so many have come, and gives all.
    pub fn wait_for(&self, count: usize) -> Vec<Hook> {
        until(&format!("{count} callbacks"), || {
            let came = self.came();
            (came.len() >= count).then_some(came)
        })
    }
}

fn serve(
    socket: TcpStream,
    tls: Option<Arc<ServerConfig>>,
    came: &Mutex<Vec<Hook>>,
    answer: &Answer,
) {
    let stream: Box<dyn Stream> = match tls {
        None => Box::new(socket),
        Some(config) => Box::new(StreamOwned::new(
            ServerConnection::new(config).unwrap(),
            socket,
        )),
    };
    let mut reader = BufReader::new(stream);
    while let Some(hook) = read(&mut reader) {
        let before = {
            let mut came = came.lock().unwrap();
            came.push(hook.clone());
            came.len() - 1
        };
        if !answer(&hook, before).write(reader.get_mut()) {
            return;
        }
    }
}

/// One request; `None` at the end of the connection.
fn read(reader: &mut impl BufRead) -> Option<Hook> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or("0", String::as_str);
    let mut octets = vec![0; length.parse().ok()?];
    reader.read_exact(&mut octets).ok()?;
    Some(Hook {
        method,
        path,
        headers,
        octets,
    })
}
