//! The meaning of an operator's command_status is configurable; a status that no standard names is
//! stored and shown unchanged.

use crate::harness::{Scene, receipt, send_receipt, stat_of, until};
use smsc::smpp::CommandStatus;

const DELIVERED: u32 = 2;
const REJECTED: u32 = 8;

#[test]
fn statuses_mean_what_the_operator_s_table_says() {
    let statuses = "retry.delays = [\"50ms\"]\nretry.throttled_delay = \"50ms\"\n\
        statuses = { ESME_RX_T_APPN = \"permanent\", \"0x0400\" = \"temporary\", \
        \"0x0410-0x041F\" = \"throttled\", \"0x0413\" = \"permanent\", rinvdstadr = \"temporary\" }";
    let mut scene = Scene::new(statuses);

    let id = scene.submit();
    for refused in [0x400, 0x412, 0x0B, 0x41F] {
        scene.refuse(CommandStatus(refused));
    }
    scene.take("a");
    let text = receipt("id:a stat:DELIVRD err:000");
    send_receipt(&mut scene.bind, text);
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), DELIVERED));
    // Throttled ones do not count as attempts.
    let attempts = ["0x00000400", "ESME_RINVDSTADR", "ESME_ROK"];
    assert_eq!(scene.attempts(&id), attempts);

    for refused in [0x64, 0x413] {
        let id = scene.submit();
        scene.refuse(CommandStatus(refused));
        assert_eq!(stat_of(&scene.esme.deliver()), (id, REJECTED));
    }
    for (result, count) in [("temporary", 2.0), ("throttled", 2.0), ("permanent", 2.0)] {
        let name = format!("smsc_attempts_total{{queue=\"operator:up\",result=\"{result}\"}}");
        assert_eq!(scene.metric(&name), count, "{result}");
    }
}

#[test]
fn a_vendor_s_status_is_kept_verbatim() {
    let mut scene = Scene::new("");
    let id = scene.submit();
    scene.refuse(CommandStatus(0x4A5));
    let told = scene.esme.deliver();
    assert_eq!(stat_of(&told), (id.clone(), REJECTED));
    let text = String::from_utf8_lossy(&told.short_message).into_owned();
    assert!(text.contains("stat:REJECTD err:1189 "), "{text}");
    assert_eq!(scene.attempts(&id), ["0x000004a5"]);
    assert_eq!(scene.message(&id)["final"]["error"], "1189");
    until("the record of it", || {
        let records = scene.smsc.records();
        let record = records.iter().find(|record| record["id"] == *id)?;
        (record["error"] == "1189").then_some(())
    });
    let name = "smsc_attempts_refused_total{queue=\"operator:up\",status=\"0x000004a5\"}";
    assert_eq!(scene.metric(name), 1.0);
}
