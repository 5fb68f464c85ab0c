//! The three programs: their configuration, start and end.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;

use tempfile::TempDir;

use super::control::{Control, vty};
use crate::harness::{Process, core_program, free_address, until};

/// Ports, which the programs give no choice of.
const GSUP: u16 = 4222;
const HLR_VTY: u16 = 4258;
const HLR_CONTROL: u16 = 4259;
const M3UA: u16 = 2905;
/// The MSC's own SMPP server, which no test uses.
const MSC_SMPP: u16 = 2775;
/// The MSC's IPA name.
const MSC: &str = "MSC-00-00-00-00-00-00";

/// A core network on a loopback address of its own; its programs end when it is dropped.
pub struct GsmCore {
    address: Ipv4Addr,
    /// In the order in which they end.
    msc: Option<Process>,
    hlr: Option<Process>,
    _stp: Process,
    folder: TempDir,
}

// === impl GsmCore ===

impl GsmCore {
    /// Starts all three; `service_centres` are the IPA names that may connect as SMSCs: all hear of phones
    /// that are ready, the first gets the messages of phones.
    pub fn start(service_centres: &[&str]) -> Self {
        let address = free_address();
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text);
        write("stp.cfg", stp_configuration(address)).unwrap();
        write("hlr.cfg", hlr_configuration(address, service_centres)).unwrap();
        write("msc.cfg", msc_configuration(address)).unwrap();
        let stp = program(folder.path(), "stp");
        let mut core = Self {
            address,
            msc: None,
            hlr: None,
            _stp: stp,
            folder,
        };
        core.until_listening(M3UA);
        core.start_hlr();
        core.start_msc();
        core
    }

    /// Where the HLR listens for MSCs and SMSCs.
    pub fn gsup(&self) -> SocketAddr {
        self.at(GSUP)
    }

    /// Where the HLR answers questions about subscribers.
    pub fn control(&self) -> SocketAddr {
        self.at(HLR_CONTROL)
    }

    /// Where the STP listens for BSCs.
    pub(super) fn m3ua(&self) -> SocketAddr {
        self.at(M3UA)
    }

    /// Adds a subscriber.
    pub fn subscriber(&self, imsi: &str, msisdn: &str) {
        let mut control = Control::connect(self.control());
        control.set("subscriber.create", imsi).unwrap();
        let variable = format!("subscriber.by-imsi-{imsi}.msisdn");
        control.set(&variable, msisdn).unwrap();
    }

    /// Whether the HLR has a connection from this IPA name.
    pub fn is_connected(&self, name: &str) -> bool {
        vty(self.at(HLR_VTY), "show gsup-connections").is_some_and(|text| text.contains(name))
    }

    /// Starts the HLR, with the subscribers that it knew.
    pub fn start_hlr(&mut self) {
        self.hlr = Some(program(self.folder.path(), "hlr"));
        self.until_listening(HLR_CONTROL);
        self.until_listening(GSUP);
    }

    /// Kills the HLR with SIGKILL.
    pub fn kill_hlr(&mut self) {
        self.hlr.take().expect("an HLR").kill();
    }

    /// Starts the MSC, which knows no phone until the phone attaches, and waits until the HLR knows it.
    pub fn start_msc(&mut self) {
        self.msc = Some(program(self.folder.path(), "msc"));
        until("the MSC at the HLR", || {
            self.msc.as_mut().unwrap().assert_running();
            self.is_connected(MSC).then_some(())
        });
    }

    /// Kills the MSC with SIGKILL, and waits until the HLR has seen it.
    pub fn kill_msc(&mut self) {
        self.msc.take().expect("an MSC").kill();
        until("the HLR to miss the MSC", || {
            (!self.is_connected(MSC)).then_some(())
        });
    }

    /// Waits until the MSC is at the HLR, to which it comes back by itself.
    pub fn until_msc_connected(&self) {
        until("the MSC at the HLR again", || {
            self.is_connected(MSC).then_some(())
        });
    }

    fn at(&self, port: u16) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(self.address), port)
    }

    fn until_listening(&mut self, port: u16) {
        let address = self.at(port);
        until(&format!("a program at {address}"), || {
            if let Some(hlr) = &mut self.hlr {
                hlr.assert_running();
            }
            self._stp.assert_running();
            TcpStream::connect(address).ok()
        });
    }
}

/// Starts osmo-NAME with NAME.cfg; the log is NAME.log.
fn program(folder: &Path, name: &str) -> Process {
    let mut command = core_program(&format!("osmo-{name}"));
    command
        .current_dir(folder)
        .arg("-c")
        .arg(format!("{name}.cfg"));
    if name == "hlr" {
        command.args(["-l", "hlr.db"]);
    }
    Process::start(
        &format!("osmo-{name}"),
        command,
        &folder.join(format!("{name}.log")),
    )
}

/// What all have: where the log goes and where the VTY is.
fn common(address: Ipv4Addr) -> String {
    format!(
        "log stderr\n logging filter all 1\n logging color 0\n logging print category 1\n \
         logging timestamp 1\n logging level set-all info\nline vty\n no login\n bind {address}\n"
    )
}

fn stp_configuration(address: Ipv4Addr) -> String {
    format!(
        "{}cs7 instance 0\n xua rkm routing-key-allocation dynamic-permitted\n listen m3ua {M3UA} tcp\n  \
         accept-asp-connections dynamic-permitted\n  local-ip {address}\n",
        common(address)
    )
}

fn hlr_configuration(address: Ipv4Addr, service_centres: &[&str]) -> String {
    let mut text = format!(
        "{}ctrl\n bind {address}\nhlr\n gsup\n  bind ip {address}\n  ipa-name HLR\n",
        common(address)
    );
    for name in service_centres {
        text.push_str(&format!(" smsc entity {name}\n"));
    }
    if let Some(first) = service_centres.first() {
        text.push_str(&format!(" smsc default-route {first}\n"));
    }
    text
}

fn msc_configuration(address: Ipv4Addr) -> String {
    format!(
        "{}ctrl\n bind {address}\nnetwork\n network country code 001\n mobile network code 01\n \
         encryption a5 0\n authentication optional\n mm info 0\ncs7 instance 0\n point-code 0.23.1\n \
         asp asp-clnt-OsmoMSC-A-Iu {M3UA} 0 m3ua tcp\n  remote-ip {address}\n  local-ip {address}\n  role asp\n  \
         transport-role client\nhlr\n remote-ip {address}\n remote-port {GSUP}\n ipa-name {MSC}\n\
         msc\n sms-over-gsup\n no assign-tmsi\n cs7-instance-a 0\n cs7-instance-iu 0\n \
         mgw local-ip {address}\n mgw remote-ip {address}\nsmpp\n local-tcp-ip {address} {MSC_SMPP}\n \
         policy closed\nsgs\n local-ip {address}\n",
        common(address)
    )
}
