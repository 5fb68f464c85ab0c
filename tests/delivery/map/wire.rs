//! Every packet of a run with everything in it, as tshark reads it: SCTP, M3UA, SCCP, TCAP, GSM MAP and GSM SMS.

use serde_json::json;
use smsc::smpp::{SubmitSm, tag};
use smsc::sms::tpdu::{SmsSubmit, TpduAddress};
use smsc::sms::{Shifts, gsm7, ucs2};

use super::{MapTown, SOON, numbered};
use crate::harness::map::{HLR, MSC, MapReading, SGSN};
use crate::harness::{saying, submit, submit_ucs2, until};

#[test]
fn tshark_reads_every_packet_of_a_run_with_everything_in_it() {
    let town = MapTown::start(SOON, "unitdata_octets = 160\nbeat_interval = \"300ms\"");
    let mut esme = town.esme();
    for version in [3, 2, 1] {
        for node in [HLR, MSC, SGSN] {
            town.network.node(
                node,
                json!({ "version": version, "segment": if version == 2 { 30 } else { 0 } }),
            );
        }
        let mut sent = 0;
        let (number, imsi) = town.network.subscriber(usize::from(version), json!({}));
        for text in numbered(4) {
            esme.submit(submit(&number, &text));
            sent += 1;
        }
        esme.submit(submit_ucs2(&number, "Привет"));
        let mut long = submit(&number, "");
        let text = "Long texts are divided. ".repeat(15);
        let octets = gsm7::encode(&text, Shifts::default()).unwrap();
        long.tlvs.push(tag::MESSAGE_PAYLOAD, &octets);
        esme.submit(long);
        let mut wide = SubmitSm {
            data_coding: 8,
            ..submit(&number, "")
        };
        wide.tlvs.push(
            tag::MESSAGE_PAYLOAD,
            &ucs2::encode(&"Здравствуй! ".repeat(12)),
        );
        esme.submit(wide);
        // A short one, three parts and three parts.
        sent += 1 + 3 + 3;
        town.network.wait_for(&imsi, sent);

        // Errors, absence with its report and alert, and messages of handsets with their errors.
        for (at, outcome) in ["absent", "memory_full", "system_failure", "busy"]
            .into_iter()
            .enumerate()
        {
            let keys = json!({ "forward": [outcome, "ok"] });
            let (number, imsi) = town
                .network
                .subscriber(10 * usize::from(version) + at, keys);
            esme.submit(submit(&number, outcome));
            town.network.wait_for(&imsi, 1);
            town.network.order(
                "alert",
                json!({ "msisdn": number, "version": if version == 1 { 1 } else { 2 } }),
            );
        }
        let to = |address: &str| SmsSubmit {
            message_reference: version,
            destination_address: TpduAddress::international(address),
            status_report_request: true,
            ..SmsSubmit::default()
        };
        for address in ["12345", &number, "999"] {
            town.network
                .submit(&number, &saying("from a handset", to(address)), version);
        }
        esme.acknowledge_all();
    }
    town.network
        .node(MSC, json!({ "mood": "udts:4", "version": 3 }));
    let (number, imsi) = town.network.subscriber(90, json!({}));
    let id = esme.submit(submit(&number, "returned"));
    town.until_tried(&id, "SCCP_UNEQUIPPED_USER");
    for mood in ["refuse", "abort", "p_abort"] {
        let before = town.network.dialogues_with(MSC).len();
        town.network.node(MSC, json!({ "mood": mood }));
        until("another attempt", || {
            (town.network.dialogues_with(MSC).len() > before).then_some(())
        });
    }
    town.network.node(MSC, json!({ "mood": null }));
    town.network.wait_for(&imsi, 1);

    let reading = town.reading();
    let seen = |filter: &str| reading.packets(filter);
    for (what, filter) in [
        ("registrations", "m3ua.message_class == 9"),
        (
            "heartbeats",
            "m3ua.message_class == 3 && m3ua.message_type == 3",
        ),
        ("UDT", "sccp.message_type == 0x09"),
        ("UDTS", "sccp.message_type == 0x0a"),
        ("XUDT", "sccp.message_type == 0x11"),
        ("segments put together", "sccp.msg.fragments"),
        ("begins", "tcap.begin_element"),
        ("continues", "tcap.continue_element"),
        ("ends", "tcap.end_element"),
        ("aborts", "tcap.abort_element"),
        ("questions to the HLR", "gsm_old.localValue == 45"),
        ("messages of version 3", "gsm_old.localValue == 44"),
        ("messages of other versions", "gsm_old.localValue == 46"),
        ("reports to the HLR", "gsm_old.localValue == 47"),
        ("alerts", "gsm_old.localValue == 64"),
        ("alerts of version 1", "gsm_old.localValue == 49"),
        ("messages of handsets", "gsm_sms && gsm_sms.tp-mti == 1"),
        ("status reports", "gsm_sms && gsm_sms.tp-mti == 2"),
    ] {
        assert!(seen(filter) > 0, "no {what}");
    }
    let texts = ["number 0", "Привет", "from a handset", "memory_full"];
    town.assert_content(&texts);
    MapReading::of_trace(town.network.trace()).assert_well_formed(&texts);
}
