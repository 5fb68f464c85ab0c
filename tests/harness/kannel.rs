//! A running Kannel that binds to an SMSC under test, and sends what it is told over HTTP.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use super::{PATIENCE, Process, Smsc, debian_tool, free_port, until};

/// bearerbox and smsbox. They bind as the account `test`; programs send as `user` with the password `word`.
pub struct Kannel {
    sendsms: u16,
    // Dropped before its folder.
    smsbox: Process,
    bearerbox: Process,
    _folder: tempfile::TempDir,
}

// === impl Kannel ===

impl Kannel {
    /// Starts it, with a transceiver or a pair of binds. It calls `mo_url` for messages of mobiles.
    pub fn start(smsc: &Smsc, mo_url: &str, transceiver: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = smsc.smpp().port();
        let links: String = if transceiver {
            link(&format!("port = {port}\ntransceiver-mode = true"))
        } else {
            link(&format!("port = {port}")) + &link(&format!("receive-port = {port}"))
        };
        let (admin, boxes, sendsms) = (free_port(), free_port(), free_port());
        let config = format!(
            "group = core\nadmin-port = {admin}\nadmin-password = bar\nsmsbox-port = {boxes}\n\
             admin-interface = 127.0.0.1\nbox-deny-ip = \"*.*.*.*\"\nbox-allow-ip = 127.0.0.1\n\
             log-level = 0\n\n\
             {links}\
             group = smsbox\nbearerbox-host = 127.0.0.1\nsendsms-port = {sendsms}\n\
             sendsms-interface = 127.0.0.1\nlog-level = 0\n\n\
             group = sendsms-user\nusername = user\npassword = word\nmax-messages = 10\n\
             concatenation = true\n\n\
             group = sms-service\nkeyword = default\nmax-messages = 0\n\
             get-url = \"{mo_url}\"\n",
        );
        let file = folder.path().join("kannel.conf");
        std::fs::write(&file, config).unwrap();
        let bearerbox = box_process("bearerbox", &file, folder.path());
        until("bearerbox to listen", || {
            TcpStream::connect(("127.0.0.1", boxes)).ok()
        });
        let smsbox = box_process("smsbox", &file, folder.path());
        // It listens earlier, but a request before its initialisation is complete crashes it.
        until("smsbox to be connected", || {
            smsbox
                .log()
                .contains("Connected to bearerbox")
                .then_some(())
        });
        Self {
            sendsms,
            smsbox,
            bearerbox,
            _folder: folder,
        }
    }

    /// The address of smsbox.
    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.sendsms).into()
    }

    /// The response of smsbox to a GET request, with its head.
    pub fn get(&self, path: &str) -> String {
        let address = self.address();
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(socket, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    }

    /// SIGTERM: bearerbox unbinds.
    pub fn stop(mut self) {
        self.smsbox.terminate();
        let status = self.bearerbox.terminate();
        assert!(status.success(), "bearerbox: {status}");
    }

    /// SIGKILL of both.
    pub fn kill(mut self) {
        self.bearerbox.kill();
        self.smsbox.kill();
    }
}

/// Configuration of a connection to the SMSC; the ports determine its direction.
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
