//! A slow client, or one on a busy machine, has as long for its TLS handshake as is configured.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::harness::{Authority, Smsc};

/// A client that connects, and says nothing yet.
fn silent(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).unwrap()
}

#[test]
fn a_handshake_has_the_time_that_is_configured() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new("ours");
    let (cert, key) = authority.sign("127.0.0.1").write(folder.path(), "smsc");
    let keys = |handshake: &str| {
        format!("tls_cert = {cert:?}\ntls_key = {key:?}\ntls_handshake_timeout = \"{handshake}\"")
    };
    let smsc = Smsc::new()
        // Longer than the three seconds of actix-web.
        .http(&keys("5s"))
        .https(&authority.pem)
        .with_api_and(&keys("10m"))
        .start();
    let mut patient = silent(smsc.api_address());
    let mut hurried = silent(smsc.http());
    assert_eq!(hurried.read(&mut [0]).unwrap(), 0, "it is disconnected");
    let moment = Duration::from_millis(1);
    patient.set_read_timeout(Some(moment)).unwrap();
    let still = patient.read(&mut [0]).unwrap_err();
    assert_eq!(still.kind(), ErrorKind::WouldBlock, "it may go on");
}
