//! Kannel as an ESME: its bearerbox binds to us (as a transmitter and a receiver, and as a
//! transceiver), its smsbox takes a message by HTTP, and its report URL hears of the delivery.

mod harness;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use harness::{Process, Simulator, Smsc, debian_tool, free_port, until};

/// Kannel's dlr-mask: delivered, failed, accepted and refused by the SMSC.
const EVERY_REPORT: u32 = 1 + 2 + 8 + 16;
/// Kannel's report of a delivered message.
const DELIVERED: &str = "GET /report?type=1 ";

/// A running Kannel.
struct Kannel {
    sendsms: u16,
    // Dropped before its folder.
    _smsbox: Process,
    _bearerbox: Process,
    _folder: tempfile::TempDir,
}

impl Kannel {
    fn start(smsc: SocketAddr, transceiver: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = smsc.port();
        let links: String = match transceiver {
            true => link(&format!("port = {port}\ntransceiver-mode = true")),
            false => link(&format!("port = {port}")) + &link(&format!("receive-port = {port}")),
        };
        let (admin, boxes, sendsms) = (free_port(), free_port(), free_port());
        let config = format!(
            "group = core\nadmin-port = {admin}\nadmin-password = bar\nsmsbox-port = {boxes}\n\
             admin-interface = 127.0.0.1\nbox-deny-ip = \"*.*.*.*\"\nbox-allow-ip = 127.0.0.1\n\
             log-level = 0\n\n\
             {links}\
             group = smsbox\nbearerbox-host = 127.0.0.1\nsendsms-port = {sendsms}\n\
             sendsms-interface = 127.0.0.1\nlog-level = 0\n\n\
             group = sendsms-user\nusername = user\npassword = word\nmax-messages = 10\n\n\
             group = sms-service\nkeyword = default\ntext = \"\"\n",
        );
        let file = folder.path().join("kannel.conf");
        std::fs::write(&file, config).unwrap();
        let bearerbox = box_process("bearerbox", &file, folder.path());
        until("bearerbox to listen", || {
            TcpStream::connect(("127.0.0.1", boxes)).ok()
        });
        let smsbox = box_process("smsbox", &file, folder.path());
        until("smsbox to listen", || {
            TcpStream::connect(("127.0.0.1", sendsms)).ok()
        });
        Self {
            sendsms,
            _smsbox: smsbox,
            _bearerbox: bearerbox,
            _folder: folder,
        }
    }

    /// Submits a message; reports are asked for at `reports`.
    fn send(&self, to: &str, text: &str, reports: SocketAddr) {
        let url = format!("http%3A%2F%2F{reports}%2Freport%3Ftype%3D%25d");
        let path = format!(
            "/cgi-bin/sendsms?username=user&password=word&from=12345&to={to}&text={text}\
             &dlr-mask={EVERY_REPORT}&dlr-url={url}"
        );
        let answer = get(([127, 0, 0, 1], self.sendsms).into(), &path);
        assert!(answer.contains("Accepted for delivery"), "{answer}");
    }
}

/// A connection to the SMSC; the ports say in which direction.
fn link(ports: &str) -> String {
    format!(
        "group = smsc\nsmsc = smpp\nsmsc-id = ours\nhost = 127.0.0.1\n{ports}\n\
         smsc-username = test\nsmsc-password = test\nsystem-type = \"\"\nreconnect-delay = 1\n\n"
    )
}

fn box_process(name: &str, config: &Path, folder: &Path) -> Process {
    let mut command = debian_tool(name);
    command.arg(config).current_dir(folder);
    Process::start(name, command, &folder.join(format!("{name}.log")))
}

/// A GET over a plain socket.
fn get(address: SocketAddr, path: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(harness::PATIENCE)).unwrap();
    write!(socket, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

/// The next requests to the report URL, each answered with 200, until one starts with `wanted`.
fn wait_for_report(listener: &TcpListener, wanted: &str) {
    listener.set_nonblocking(true).unwrap();
    let mut seen = Vec::new();
    until(&format!("{wanted:?} at the report URL"), || {
        let (mut socket, _) = listener.accept().ok()?;
        socket.set_nonblocking(false).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        let mut head = [0; 4096];
        let count = socket.read(&mut head).unwrap_or(0);
        let _ = socket.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
        seen.push(String::from_utf8_lossy(&head[..count]).into_owned());
        seen.last()?.starts_with(wanted).then_some(())
    });
}

/// One message from Kannel to the operator, and its report back to Kannel's user.
fn round_trip(transceiver: bool) {
    let operator = Simulator::new().start();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator("up", operator.address())
        .route("", "up")
        .start();
    let reports = TcpListener::bind(("127.0.0.1", free_port())).unwrap();
    let kannel = Kannel::start(smsc.smpp(), transceiver);
    let binds = if transceiver { 1 } else { 2 };
    let admin = smsc.admin();
    until("the binds of bearerbox", || {
        let list = admin.get("/v1/binds");
        let bound = list["binds"].as_array()?.iter();
        let of_kannel = bound.filter(|bind| bind["name"] == "test" && bind["state"] == "bound");
        (of_kannel.count() == binds).then_some(())
    });

    kannel.send(
        "447700900123",
        "hello+kannel",
        reports.local_addr().unwrap(),
    );

    let journal = operator.wait_for(1);
    assert_eq!(journal.len(), 1);
    assert_eq!(journal[0].text, "hello kannel");
    assert!(
        journal[0].destination.ends_with("447700900123"),
        "{journal:?}"
    );
    wait_for_report(&reports, DELIVERED);
    smsc.assert_no_panic();
}

#[test]
fn kannel_with_a_transmitter_and_a_receiver() {
    round_trip(false);
}

#[test]
fn kannel_with_a_transceiver() {
    round_trip(true);
}
