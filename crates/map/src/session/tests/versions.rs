//! Each version with HLRs and nodes that know no later one, and how it is found. TS 29.002 §5.5.

use smsc_domain::gsm_result::map;

use super::*;
use crate::context::SHORT_MSG_MT_RELAY;

/// The versions in which dialogues of a context were begun.
fn tried(country: &ScriptedNetwork, context: u8) -> Vec<u8> {
    let hlr = context == SHORT_MSG_GATEWAY;
    let begun = country.network.begun.iter();
    let of_context = begun.filter(|(to, ..)| (to != MSC && to != SGSN) == hlr);
    of_context
        .map(|(_, context, _)| context.map_or(1, |context| context.version))
        .collect()
}

#[test]
fn a_peer_is_asked_in_earlier_versions_and_that_is_remembered() {
    for (version, offers, versions) in [
        (3, false, vec![3]),
        (2, false, vec![3, 2]),
        (2, true, vec![3, 2]),
        (1, false, vec![3, 1]),
    ] {
        let mut country = ScriptedNetwork::new();
        country.network.hlr_version = version;
        country.network.node_version = version;
        country.network.offers = offers;
        assert_eq!(country.outcome_of(PHONE), delivered(), "{version}");
        assert_eq!(tried(&country, SHORT_MSG_GATEWAY), versions);
        assert_eq!(tried(&country, SHORT_MSG_MT_RELAY), versions);
        // A number of the same HLR, at the same node.
        country.network.begun.clear();
        assert_eq!(country.outcome_of(OTHER), delivered(), "{version}");
        assert_eq!(tried(&country, SHORT_MSG_GATEWAY), [version]);
        assert_eq!(tried(&country, SHORT_MSG_MT_RELAY), [version]);
        // It may be a later one some day.
        country.network.begun.clear();
        country.wait(Duration::from_secs(24 * 3600));
        assert_eq!(country.outcome_of(PHONE), delivered(), "{version}");
        assert_eq!(tried(&country, SHORT_MSG_GATEWAY), versions);
        assert_eq!(
            country.session.versions.len(),
            if version == 3 { 0 } else { 2 }
        );
    }
}

#[test]
fn each_version_says_what_it_can() {
    for version in [1, 2, 3] {
        let mut country = ScriptedNetwork::new();
        country.network.hlr_version = version;
        country.network.node_version = version;
        country.network.replies(MSC, [NodeReply::Fails(failure(0))]);
        country.send(message(PHONE, true), 1);
        let status = map::of_delivery_failure(Some(0));
        let expected = failed(status, FailedPart::Forward, false);
        assert_eq!(country.outcomes(), [(1, expected)], "{version}");
        assert_eq!(country.network.asked[0].gprs_support, version == 3);
        assert_eq!(country.network.forwarded[0].1.more, version > 1);
        let reported = &country.network.reported[0];
        assert_eq!(reported.outcome.is_some(), version > 1);
        assert_eq!(reported.gprs_support, version == 3);
    }
}

#[test]
fn our_own_version_may_be_an_earlier_one() {
    let mut country = ScriptedNetwork::with(|config| config.latest = MapVersion::V2);
    assert_eq!(country.outcome_of(PHONE), delivered());
    assert_eq!(tried(&country, SHORT_MSG_GATEWAY), [2]);
    assert_eq!(tried(&country, SHORT_MSG_MT_RELAY), [2]);
}

#[test]
fn a_node_that_does_not_know_the_operation_gets_an_earlier_one() {
    let mut country = ScriptedNetwork::new();
    country.network.replies(MSC, [NodeReply::Rejects]);
    assert_eq!(country.outcome_of(PHONE), delivered());
    assert_eq!(tried(&country, SHORT_MSG_MT_RELAY), [3, 2]);
    let rejects = [NodeReply::Rejects, NodeReply::Rejects, NodeReply::Rejects];
    country.network.replies(MSC, rejects);
    country.wait(Duration::from_secs(24 * 3600));
    let expected = failed(map::MAP_REJECTED, FailedPart::Forward, false);
    assert_eq!(country.outcome_of(PHONE), expected);
}

#[test]
fn a_peer_without_any_version_fails() {
    let mut country = ScriptedNetwork::new();
    country.network.hlr_version = 0;
    // It refuses every context, and answers nothing without one.
    country.network.offers = false;
    country.network.hlr_is_silent = true;
    country.send(message(PHONE, false), 1);
    assert_eq!(tried(&country, SHORT_MSG_GATEWAY), [3, 2, 1]);
    country.wait(Duration::from_secs(30));
    let silent = failed(map::MAP_NO_ANSWER_OF_HLR, FailedPart::Routing, false);
    assert_eq!(country.outcomes(), [(1, silent)]);
}

/// Whole messages, against pycrate 0.8.1 (`TCAP-MAP-Messages`), with the transaction id 01020304.
#[test]
fn what_is_sent_is_that_of_pycrate() {
    let dialogue = |context, version| {
        format!(
            "6b 1e 28 1c 06 07 00 11 86 05 01 01 01 a0 11 60 0f 80 02 07 80 a1 09 06 07 04 00 00 01 \
             00 {context:02x} {version:02x}"
        )
    };
    let asked = "80 08 91 94 71 16 32 54 76 f8 81 01 00 82 07 91 94 71 01 67 00 00";
    let forwarded = "80 08 62 02 11 32 54 76 98 f0 84 07 91 94 71 01 67 00 00 04 08 04 0b 91 13 46 \
                     61 00 89";
    for (version, of_hlr, of_node) in [
        (
            MapVersion::V3,
            format!(
                "62 4a 48 04 01 02 03 04 {} 6c 22 a1 20 02 01 01 02 01 2d 30 18 {asked} 87 00",
                dialogue(20, 3)
            ),
            format!(
                "62 4f 48 04 01 02 03 04 {} 6c 27 a1 25 02 01 01 02 01 2c 30 1d {forwarded}",
                dialogue(25, 3)
            ),
        ),
        (
            MapVersion::V2,
            format!(
                "62 48 48 04 01 02 03 04 {} 6c 20 a1 1e 02 01 01 02 01 2d 30 16 {asked}",
                dialogue(20, 2)
            ),
            format!(
                "62 4f 48 04 01 02 03 04 {} 6c 27 a1 25 02 01 01 02 01 2e 30 1d {forwarded}",
                dialogue(25, 2)
            ),
        ),
        (
            MapVersion::V1,
            format!("62 28 48 04 01 02 03 04 6c 20 a1 1e 02 01 01 02 01 2d 30 16 {asked}"),
            format!("62 2f 48 04 01 02 03 04 6c 27 a1 25 02 01 01 02 01 2e 30 1d {forwarded}"),
        ),
    ] {
        let mut country = ScriptedNetwork::with(|config| config.latest = version);
        let long = MtForward {
            tpdu: Bytes::from_static(&[0x04, 0x0B, 0x91, 0x13, 0x46, 0x61, 0x00, 0x89]),
            ..message(PHONE, false)
        };
        country.session.send(long, 1, country.now).unwrap();
        for expected in [of_hlr, of_node] {
            let request = country.session.next_unitdata().unwrap();
            let mut data = request.data.to_vec();
            data[4..8].copy_from_slice(&[1, 2, 3, 4]);
            assert_eq!(data, crate::hex::octets(&expected), "{version:?}");
            let (called, calling) = (request.called, request.calling);
            (country.network.tcap).received(called, calling, &request.data, country.now);
            let event = country.network.tcap.next_event().unwrap();
            country.network.on_event(event, country.now);
            let answer = country.network.tcap.next_unitdata().unwrap();
            let unitdata = Unitdata {
                called: answer.called,
                calling: answer.calling,
                data: answer.data,
            };
            country.session.received(unitdata, country.now);
        }
    }
}
