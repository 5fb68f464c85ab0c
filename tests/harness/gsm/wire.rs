//! What a recorder in front of an HLR has seen: whether tshark reads every frame, and whether two messages were under
//! way to one subscriber.

use std::collections::{HashMap, HashSet};

use bytes::BytesMut;
use smsc::gsup::{GsupMessage, MessageType, ipa};

use crate::harness::{Capture, Proxy, debian_tool, run};

/// tshark takes the report in a result for a message of the direction of its request.
const NOT_MISREAD: &str = "!(gsup.msg_type == 0x26) && !(gsup.msg_type == 0x2a)";

/// tshark complains of no frame, and has seen these texts.
pub fn assert_well_formed(recorder: &Proxy, texts: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gsup.pcap");
    let mut capture = Capture::new();
    capture.add(recorder);
    capture.write(&file);
    let tshark = |arguments: &[&str]| {
        let finished = run(debian_tool("tshark").arg("-r").arg(&file).args(arguments));
        assert!(finished.success, "{}", finished.stderr);
        finished.stdout
    };
    let complaints = format!("(_ws.malformed || _ws.expert.severity == error) && {NOT_MISREAD}");
    let said = tshark(&["-Y", &complaints, "-V"]);
    assert_eq!(said, "", "tshark is not content");
    let found = tshark(&["-Y", "gsup", "-T", "fields", "-e", "gsm_sms.sms_text"]);
    for text in texts {
        assert!(found.contains(text), "no {text:?} in:\n{found}");
    }
}

/// Subscribers to whom a message was sent while another one was under way, and how many MT-forwardSMs there were.
pub fn overlaps(recorder: &Proxy) -> (Vec<String>, usize) {
    let mut streams: HashMap<(u16, bool), BytesMut> = HashMap::new();
    let mut under_way: HashSet<(u16, String)> = HashSet::new();
    let (mut found, mut sent) = (Vec::new(), 0);
    for segment in recorder.segments() {
        let connection = segment.connection;
        let stream = streams
            .entry((connection, segment.from_client))
            .or_default();
        stream.extend_from_slice(&segment.octets);
        while let Some(frame) = ipa::next_frame(stream, ipa::FRAME_MAX).unwrap() {
            let is_gsup = frame.stream == ipa::OSMO && frame.payload.first() == Some(&ipa::GSUP);
            if !is_gsup {
                continue;
            }
            let message = GsupMessage::decode(&frame.payload.slice(1..)).unwrap();
            let key = (connection, message.imsi.clone());
            match message.message_type {
                MessageType::MT_FORWARD_SM_REQUEST => {
                    sent += 1;
                    if !under_way.insert(key) {
                        found.push(message.imsi);
                    }
                }
                MessageType::MT_FORWARD_SM_RESULT
                | MessageType::MT_FORWARD_SM_ERROR
                | MessageType::ROUTING_ERROR => {
                    under_way.remove(&key);
                }
                _ => {}
            }
        }
    }
    (found, sent)
}
