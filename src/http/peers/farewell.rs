//! How a client is told that its connection is closed, because there are too many.

use std::net::Shutdown;
use std::sync::LazyLock;

use socket2::Socket;

use crate::http::problem::{CONTENT_TYPE, Problem};

/// What a client reads on a connection that was closed.
pub(super) fn closed() -> Problem {
    let detail = "too many connections have shown no valid key or token, and this one was idle for longest; \
        open fewer, and send a request with a key on each soon";
    Problem::too_many_connections(detail)
}

/// The answer of [`closed`] as it is written.
static FAREWELL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let body = serde_json::to_string(&closed().details()).unwrap_or_default();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {length}\r\n\
         Retry-After: 1\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    );
    (head + &body).into_bytes()
});

/// The socket of a connection.
pub(super) struct ClientSocket {
    pub socket: Socket,
    /// Octets that are written to it are read as they are, not as records of TLS.
    pub is_plain: bool,
}

// === impl ClientSocket ===

impl ClientSocket {
    /// Closes it. A client that waits for nothing finds the answer to its next request.
    pub(super) fn close(&self, is_busy: bool) {
        // One that is closed already needs nothing, and one that takes nothing is not waited for.
        match (self.is_plain, is_busy) {
            (true, false) => {
                let _ = self.socket.send(&FAREWELL);
                let _ = self.socket.shutdown(Shutdown::Both);
            }
            // The server sees an end, and closes the session of TLS.
            (false, false) => drop(self.socket.shutdown(Shutdown::Read)),
            (_, true) => drop(self.socket.shutdown(Shutdown::Both)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_answer_is_there_before_the_question_and_after_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        let socket = ClientSocket {
            socket: server.into(),
            is_plain: true,
        };
        socket.close(false);
        drop(socket);
        // The server is gone: its reset must not take the answer away.
        let _ = client.write_all(b"GET / HTTP/1.1\r\n\r\n");
        let mut answer = vec![0; FAREWELL.len()];
        client.read_exact(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["limit"], "connections");
    }
}
