//! osmo-stp: started, killed, and started again at the same address.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};

use tempfile::TempDir;

use super::network::{CENTRE_POINT_CODE, NETWORK_POINT_CODE};
use crate::harness::{Process, core_program, free_address, until};

const M3UA: u16 = 2905;
/// The routing context of the network where contexts are fixed.
pub const NETWORK_CONTEXT: u32 = 200;

/// A signalling gateway on a loopback address of its own; it ends when it is dropped.
pub struct Stp {
    address: Ipv4Addr,
    process: Option<Process>,
    folder: TempDir,
}

// === impl Stp ===

impl Stp {
    /// A gateway at which anybody may register a point code.
    pub fn start() -> Self {
        let open = " xua rkm routing-key-allocation dynamic-permitted\n";
        Self::with(open, "dynamic-permitted", "")
    }

    /// A gateway that knows its servers beforehand, by their addresses: those of the service centre share the load of the
    /// routing context `context`, and the network is at `network` with [`NETWORK_CONTEXT`]. Nobody may register.
    pub fn knowing(centre: &[Ipv4Addr], context: u32, network: Ipv4Addr) -> Self {
        let mut servers = String::new();
        let mut members = String::new();
        let server = |text: &mut String, name: &str, address: &Ipv4Addr| {
            // Port 0: from any port.
            write!(
                text,
                " asp {name} 0 {M3UA} m3ua tcp\n  remote-ip {address}\n  role sg\n  transport-role server\n"
            )
            .unwrap();
        };
        for (at, address) in centre.iter().enumerate() {
            server(&mut servers, &format!("centre-{at}"), address);
            writeln!(members, "  asp centre-{at}").unwrap();
        }
        server(&mut servers, "network", &network);
        let known = format!(
            "{servers} as centre m3ua\n{members}  routing-key {context} {CENTRE_POINT_CODE}\n  traffic-mode loadshare\n \
             as network m3ua\n  asp network\n  routing-key {NETWORK_CONTEXT} {NETWORK_POINT_CODE}\n \
             route-table system\n  update route {CENTRE_POINT_CODE} 7.255.7 linkset centre\n  \
             update route {NETWORK_POINT_CODE} 7.255.7 linkset network\n"
        );
        let closed = " xua rkm routing-key-allocation static-only\n";
        Self::with(closed, "pre-configured", &known)
    }

    /// A gateway that takes connections of anybody and lets nobody register. osmo-stp then says that an application server
    /// is active although it sends nothing to it (2.1.0).
    pub fn refusing() -> Self {
        let closed = " xua rkm routing-key-allocation static-only\n";
        Self::with(closed, "dynamic-permitted", "")
    }

    fn with(keys: &str, accepts: &str, known: &str) -> Self {
        let address = free_address();
        let folder = tempfile::tempdir().unwrap();
        let known = known.replace("m3ua tcp\n", &format!("m3ua tcp\n  local-ip {address}\n"));
        let text = format!(
            "log stderr\n logging filter all 1\n logging color 0\n logging print category 1\n \
             logging timestamp 1\n logging level set-all info\nline vty\n no login\n bind {address}\n\
             cs7 instance 0\n{keys} listen m3ua {M3UA} tcp\n  accept-asp-connections {accepts}\n  \
             local-ip {address}\n{known}"
        );
        std::fs::write(folder.path().join("stp.cfg"), text).unwrap();
        let mut stp = Self {
            address,
            process: None,
            folder,
        };
        stp.start_again();
        stp
    }

    /// Where it listens.
    pub fn m3ua(&self) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(self.address), M3UA)
    }

    /// SIGKILL: whoever is connected sees the end of the connection.
    pub fn kill(&mut self) {
        self.process.take().expect("an STP that runs").kill();
    }

    /// SIGSTOP: connections stay, and nothing is answered any more.
    pub fn freeze(&self) {
        self.running().signal("STOP");
    }

    /// SIGCONT.
    pub fn thaw(&self) {
        self.running().signal("CONT");
    }

    /// Starts it; it remembers nothing of what was registered.
    pub fn start_again(&mut self) {
        assert!(self.process.is_none(), "the STP runs already");
        let mut command = core_program("osmo-stp");
        command
            .current_dir(self.folder.path())
            .args(["-c", "stp.cfg"]);
        let log = self.folder.path().join("stp.log");
        let mut process = Process::start("osmo-stp", command, &log);
        until("the STP to listen", || {
            process.assert_running();
            TcpStream::connect(self.m3ua()).ok()
        });
        self.process = Some(process);
    }

    fn running(&self) -> &Process {
        self.process.as_ref().expect("an STP that runs")
    }
}
