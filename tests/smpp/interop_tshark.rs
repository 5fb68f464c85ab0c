//! tshark checks the PDUs that we send: it finds every PDU that our own codec finds, on both sides of
//! the SMSC, and none is malformed.

use std::collections::BTreeMap;
use std::path::Path;

use crate::harness::{self, Capture, Peer, Proxy, Simulator, Smsc, debian_tool, run, submit};
use bytes::BytesMut;
use smsc::smpp::{
    Body, BroadcastSm, CancelSm, CommandStatus, DEFAULT_MAX_PDU, DataSm, DestAddress, Header,
    QuerySm, ReplaceSm, SubmitMulti, SubmitSm, Tlvs, next_frame, tag,
};

/// Messages of the load that fills segments with many PDUs and splits PDUs between segments.
const LOAD: usize = 2_000;
/// An unknown operation.
const UNKNOWN_OPERATION: u32 = 0x0000_0033;

/// PDUs by command_id.
type Counts = BTreeMap<u32, usize>;

#[test]
fn tshark_reads_every_pdu_and_finds_none_malformed() {
    let simulator = Simulator::new()
        .flags("--receipts mixed --fail-percent 20")
        .start();
    let towards_operator = Proxy::to(simulator.address());
    let mut smsc = Smsc::new()
        .relaying_to(towards_operator.address())
        // UNKNOWN ends a message at once.
        .toml("[receipts]\nsettle_after = \"0s\"")
        .start();
    let towards_smsc = Proxy::to(smsc.smpp());

    one_of_everything(towards_smsc.address());
    let load = smsc.run(&[
        "load",
        "--host",
        &towards_smsc.address().to_string(),
        "--binds",
        "2",
        "--window",
        "100",
        "--count",
        &LOAD.to_string(),
        "--user-message-reference",
    ]);
    assert!(load.success, "{}{}", load.stdout, load.stderr);

    // No PDU is under way while the recorded ones are read, once for tshark and once for our own codec.
    assert!(smsc.terminate().success());
    let mut capture = Capture::new();
    capture.add(&towards_smsc);
    capture.add(&towards_operator);
    let file = smsc.file("smpp.pcap");
    capture.write(&file);
    let ports = [towards_smsc.target_port(), towards_operator.target_port()];

    let complaints = tshark(
        &file,
        ports,
        &[
            "-Y",
            "_ws.malformed || _ws.short || _ws.expert.severity == error",
            "-V",
        ],
    );
    assert_eq!(complaints, "", "tshark is not content");
    let bare = tshark(
        &file,
        ports,
        &["-Y", "tcp.len > 0 && !smpp && !tcp.segment"],
    );
    // The only unknown request, which tshark does not recognise as SMPP.
    assert_eq!(
        bare.lines().count(),
        1,
        "tshark saw no SMPP in these:\n{bare}"
    );

    let mut ours = Counts::new();
    for proxy in [&towards_smsc, &towards_operator] {
        count_ours(proxy, &mut ours);
    }
    assert_eq!(ours.remove(&UNKNOWN_OPERATION), Some(1));
    let theirs = count_theirs(&tshark(
        &file,
        ports,
        &["-T", "fields", "-e", "smpp.command_id"],
    ));
    assert_eq!(theirs, ours);
    for (command_id, at_least) in [
        (0x0000_0004, 2 * LOAD),
        (0x8000_0004, 2 * LOAD),
        (0x0000_0005, 2 * LOAD),
        (0x8000_0005, 2 * LOAD),
        (0x8000_0000, 1),
        (0x8000_0003, 1),
        (0x8000_0006, 1),
        (0x8000_0009, 3),
        (0x8000_0015, 1),
    ] {
        let seen = theirs.get(&command_id).copied().unwrap_or(0);
        assert!(
            seen >= at_least,
            "{seen} of {command_id:#010x} in {theirs:x?}"
        );
    }
    smsc.assert_no_panic();
}

/// A session with every kind of response that the SMSC gives.
fn one_of_everything(address: std::net::SocketAddr) {
    let mut esme = Peer::bind(address, "test", "test");
    esme.assert_alive();
    esme.submit(submit("447700900123", "with TLVs").with(|message| {
        message
            .tlvs
            .push(tag::USER_MESSAGE_REFERENCE, &[0x12, 0x34]);
        message.tlvs.push(0x1501, b"vendor");
    }));
    esme.submit(submit("447700900123", "").with(|message| {
        message.tlvs.push(tag::MESSAGE_PAYLOAD, &[b'x'; 1_000]);
    }));
    esme.deliver();
    esme.deliver();
    let id = esme.submit(submit("447700900123", "asked for"));
    esme.deliver();
    let (message_id, source_addr) = (bytes::Bytes::from(id), "12345".into());
    let ok = CommandStatus::ESME_ROK;
    let to = |address: &'static str| DestAddress::Sme {
        dest_addr_ton: 1,
        dest_addr_npi: 1,
        destination_addr: address.into(),
    };
    let mut payload = Tlvs::new();
    payload.push(tag::MESSAGE_PAYLOAD, b"data");
    for (request, status) in [
        (
            Body::QuerySm(QuerySm {
                message_id: message_id.clone(),
                source_addr,
                ..QuerySm::default()
            }),
            ok,
        ),
        (
            Body::QuerySm(QuerySm::default()),
            CommandStatus::ESME_RINVMSGID,
        ),
        (
            Body::CancelSm(CancelSm {
                message_id: message_id.clone(),
                ..CancelSm::default()
            }),
            CommandStatus::ESME_RCANCELFAIL,
        ),
        (
            Body::ReplaceSm(ReplaceSm {
                message_id,
                ..ReplaceSm::default()
            }),
            CommandStatus::ESME_RREPLACEFAIL,
        ),
        (
            Body::SubmitMulti(SubmitMulti {
                dest_address: vec![
                    to("447700900123"),
                    DestAddress::DistributionList {
                        dl_name: "nobody".into(),
                    },
                ],
                short_message: "to many".into(),
                ..SubmitMulti::default()
            }),
            ok,
        ),
        (
            Body::DataSm(DataSm {
                destination_addr: "447700900123".into(),
                tlvs: payload,
                ..DataSm::default()
            }),
            ok,
        ),
        (
            Body::BroadcastSm(BroadcastSm::default()),
            CommandStatus::ESME_RINVCMDID,
        ),
    ] {
        let sequence = esme.request(request);
        assert_eq!(esme.answer_to(sequence).status, status);
    }
    esme.send(&harness::pdu(
        900,
        Body::Unknown {
            command_id: smsc::smpp::CommandId(UNKNOWN_OPERATION),
            body: bytes::Bytes::new(),
        },
    ));
    assert_eq!(esme.answer_to(900).body, Body::GenericNack);
    esme.unbind();
    let mut refused = Peer::connect(address);
    let status = refused.bind_as(Body::BindTransceiver, "test", "wrong");
    assert_eq!(status, CommandStatus::ESME_RINVPASWD);
}

/// Changes a value in an expression.
trait With: Sized {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl With for SubmitSm {}

fn tshark(file: &Path, ports: [u16; 2], arguments: &[&str]) -> String {
    let mut command = debian_tool("tshark");
    command.arg("-r").arg(file);
    for port in ports {
        command.args(["-d", &format!("tcp.port=={port},smpp")]);
    }
    let finished = run(command.args(arguments));
    assert!(finished.success, "{}", finished.stderr);
    finished.stdout
}

/// Counts PDUs in tshark's output: one line per packet, its PDUs separated by commas, as 0x00000004.
fn count_theirs(fields: &str) -> Counts {
    let mut counts = Counts::new();
    for id in fields
        .lines()
        .flat_map(|line| line.split(','))
        .filter(|id| !id.is_empty())
    {
        let digits = id
            .trim()
            .strip_prefix("0x")
            .expect("a hexadecimal command_id");
        *counts
            .entry(u32::from_str_radix(digits, 16).unwrap())
            .or_default() += 1;
    }
    counts
}

fn count_ours(proxy: &Proxy, counts: &mut Counts) {
    let mut streams: BTreeMap<(u16, bool), BytesMut> = BTreeMap::new();
    for segment in proxy.segments() {
        let stream = streams
            .entry((segment.connection, segment.from_client))
            .or_default();
        stream.extend_from_slice(&segment.octets);
    }
    for stream in streams.values_mut() {
        while let Some(frame) = next_frame(stream, DEFAULT_MAX_PDU).expect("a sane length") {
            let header = Header::parse(&frame).expect("a whole header");
            *counts.entry(header.command_id.0).or_default() += 1;
        }
        assert!(stream.is_empty(), "half a PDU at the end of a connection");
    }
}
