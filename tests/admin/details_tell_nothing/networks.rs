//! The entrances that are no client's: gateways over SGIP and SMGP, handsets over GSUP, and programs on the same machine.

use std::net::SocketAddr;

use smsc::carrier::Protocol as _;
use smsc::carrier::fields::Content;
use smsc::pb::local::to_smsc::What as Asked;
use smsc::pb::local::{Delivered, FromPeer, Short};
use smsc::sgip::Sgip;
use smsc::smgp::bodies::Deliver;
use smsc::smgp::{self, Smgp};
use smsc::smpp::SubmitSm;

use super::{NUMBERS, number, text};
use crate::harness::carrier_client::free_listener;
use crate::harness::gateway::sgip::{NODE, SGIP};
use crate::harness::gateway::{FakeGateway, Line, SECRET, SOURCE};
use crate::harness::local::{Program, Said, draft};
use crate::harness::{FakeCore, Peer, Smsc, SmscBuilder, from_handset, submit};

/// What IMSIs of the subscribers begin with.
pub const IMSIS: &str = "00101770000000";
/// The account's own number, to which they send.
const SERVICE: usize = 99;
/// LoginMode of both directions.
const BOTH: u8 = 2;

pub struct Networks {
    sgip: FakeGateway<Sgip>,
    smgp: FakeGateway<Smgp>,
    core: FakeCore,
    at: NetworkAddresses,
}

/// Where the networks and the SMSC listen.
#[derive(Debug, Clone, Copy)]
pub struct NetworkAddresses {
    sgip: SocketAddr,
    smgp: SocketAddr,
    hlr: SocketAddr,
    listens: SocketAddr,
}

// === impl NetworkAddresses ===

impl NetworkAddresses {
    /// Numbers that end in 2x are China Unicom's, in 3x China Telecom's, in 4x of a GSM network, in 5x of a program.
    pub fn configure(self, builder: SmscBuilder) -> SmscBuilder {
        let uid = rustix::process::getuid().as_raw();
        let login = format!("system_id = {SOURCE:?}\npassword = {SECRET:?}\nwindow = 16\n");
        let sgip = format!("protocol = \"sgip\"\n{login}carrier = {{ node = {NODE} }}");
        let listens = self.listens;
        builder
            .toml(&format!("[sgip]\nlisten = [\"{listens}\"]"))
            .toml(&format!(
                "[local]\nsocket = \"smsc.sock\"\nusers = {{ {uid} = \"web\" }}\nroles = {{ {uid} = \"operator:fax\" }}"
            ))
            .file("imsis.csv", &format!("{NUMBERS}4*,{IMSIS}*\n"))
            .toml("[imsi]\ntable = \"imsis.csv\"")
            .toml(&format!(
                "[[gsm]]\nname = \"home\"\naddress = \"{}\"\nsmsc_address = \"49160000\"\naccount = \"test\"\n\
                 reconnect = [\"200ms\"]",
                self.hlr
            ))
            .operator_with("unicom", self.sgip, &sgip)
            .operator_with("telecom", self.smgp, &format!("protocol = \"smgp\"\n{login}"))
            .toml("[[operator]]\nid = \"fax\"\naddress = \"local\"\nreconnect = [\"200ms\"]")
            .route(&format!("{NUMBERS}2"), "unicom")
            .route(&format!("{NUMBERS}3"), "telecom")
            .route(&format!("{NUMBERS}4"), "gsm:home")
            .route(&format!("{NUMBERS}5"), "fax")
    }
}

// === impl Networks ===

impl Networks {
    pub fn start() -> Self {
        let (sgip, smgp) = (FakeGateway::listen(SGIP), FakeGateway::listen(Smgp));
        let core = FakeCore::start();
        let at = NetworkAddresses {
            sgip: sgip.address(),
            smgp: smgp.address(),
            hlr: core.address(),
            listens: free_listener(),
        };
        Self {
            sgip,
            smgp,
            core,
            at,
        }
    }

    pub fn addresses(&self) -> NetworkAddresses {
        self.at
    }

    /// Sends a message to each of them, has each bring one, and what none of them should say. Of the program that submits
    /// one message goes the way of all others.
    pub fn bring_all(&self, smsc: &Smsc) {
        let mut esme = Peer::bind(smsc.smpp(), "test", "s3cr-tst");
        let mut send = |to: &str, way: &str| {
            esme.submit(SubmitSm {
                short_message: text(way).into(),
                ..submit(to, "")
            });
        };
        self.unicom(smsc, &mut send);
        self.telecom(smsc, &mut send);
        self.handsets(&mut send);
        programs(smsc, &mut send);
    }

    fn unicom(&self, smsc: &Smsc, send: &mut impl FnMut(&str, &str)) {
        let mut line = self.sgip.accept();
        smsc.wait_for_binds("unicom", 1);
        send(&number(20), "SGIP");
        let (sequence, _) = line.take();
        assert_ne!(Line::knock(self.at.listens, SOURCE, "s3cr-no").1, 0);
        let mut brings = Line::enter(self.at.listens);
        brings.report(sequence, &number(20), 0, 0);
        assert_eq!(brings.taken(), 0);
        brings.deliver(&number(21), &number(SERVICE), 0, text("SGIP").as_bytes());
        assert_eq!(brings.taken(), 0);
        // A report of nothing, a message for nobody, and what is no command.
        brings.report(SGIP.sequence(7), &number(22), 0, 0);
        brings.taken();
        brings.deliver(&number(21), &number(23), 0, text("SGIP").as_bytes());
        brings.taken();
        brings.send_octets(&lie(20, &number(24)));
    }

    fn telecom(&self, smsc: &Smsc, send: &mut impl FnMut(&str, &str)) {
        let mut line = self.smgp.accept(BOTH);
        smsc.wait_for_binds("telecom", 1);
        send(&number(30), "SMGP");
        line.take(1);
        line.report(1, "DELIVRD", "000");
        line.delivered();
        for to in [SERVICE, 33] {
            line.ask(smgp::Body::Deliver(Box::new(Deliver {
                src_term_id: number(31).as_str().into(),
                dest_term_id: number(to).as_str().into(),
                msg_content: Content(text("SMGP").into()),
                ..Deliver::default()
            })));
            line.delivered();
        }
        line.report(7, "DELIVRD", "000");
        line.delivered();
        line.send_octets(&lie(8, &number(34)));
    }

    fn handsets(&self, send: &mut impl FnMut(&str, &str)) {
        self.core.wait_for_connections(1);
        send(&number(40), "GSUP");
        self.core.wait_for(&format!("{IMSIS}0"), 1);
        let from = (number(41), format!("{IMSIS}1"));
        for to in [number(SERVICE), "4712".to_owned()] {
            self.core.sends(&from, from_handset(&to, &text("GSUP")));
        }
    }
}

/// A frame whose command nobody knows, with a number and a text behind a head of so many octets.
fn lie(head: usize, number: &str) -> Vec<u8> {
    let said = format!("{number} {}", text("lie"));
    let length = head + said.len();
    let mut octets = (length as u32).to_be_bytes().to_vec();
    octets.resize(head, 0x77);
    octets.extend_from_slice(said.as_bytes());
    octets
}

/// One that submits, and one that delivers.
fn programs(smsc: &Smsc, send: &mut impl FnMut(&str, &str)) {
    let socket = smsc.file("smsc.sock");
    let mut fax = Program::handler(&socket, "operator:fax");
    send(&number(50), "the local socket");
    let (request, asked) = fax.asked();
    assert!(matches!(asked, Said::ToPeer(_)), "{asked:?}");
    fax.answer(request, Asked::Delivered(Delivered::default()));
    for to in [SERVICE, 53] {
        let came = Short {
            from: number(51),
            from_ton: 1,
            from_npi: 1,
            to: number(to),
            octets: text("a peer").into(),
            ..Short::default()
        };
        let message = Some(came);
        fax.ask(Asked::FromPeer(FromPeer { message })).unwrap();
    }
    let mut program = Program::open(&socket);
    program.send(&number(7), &text("the local socket"));
    // Refused: it is no number.
    let to = format!("{}x", number(8));
    program.outcomes(vec![draft(&to, &text("the local socket"))]);
    Program::connect(&socket).write(&lie(4, &number(52)));
}
