//! After a backup was restored, what waited then is not sent before an administrator has looked at it.

use crate::harness::{Peer, Simulator, Smsc, submit, until};

#[test]
fn what_waits_in_a_restored_backup_is_sent_when_its_queue_is_resumed() {
    let mut operator = Simulator::new();
    let mut smsc = Smsc::new()
        .relaying_to(operator.address())
        .route("88", "test:delivered")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let ids = [1, 2].map(|n| esme.submit(submit(&format!("44770090012{n}"), "hello")));
    let backup = smsc.file("backup.db");
    let data = smsc.data_dir();
    let copied = smsc.run(&["backup", "--data-dir", data.to_str().unwrap(), "backup.db"]);
    assert!(copied.success, "{}", copied.stderr);
    smsc.kill();
    std::fs::remove_dir_all(&data).unwrap();
    std::fs::create_dir(&data).unwrap();
    std::fs::copy(backup, data.join("smsc.db")).unwrap();

    operator.start_again();
    smsc.start_again_with(&["--suspended"]);
    smsc.wait_for_binds("up", 1);
    let admin = smsc.admin();
    let queues = admin.get("/v1/queues");
    let queues = queues["queues"].as_array().unwrap().clone();
    for name in ["operator:up", "account:test", "test:delivered"] {
        let queue = queues.iter().find(|queue| queue["name"] == name);
        let queue = queue.unwrap_or_else(|| panic!("no {name}: {queues:?}"));
        assert_eq!(queue["suspended"], true, "{name}");
        assert_eq!(queue["suspended_by"], "smsc serve --suspended", "{name}");
    }
    // New messages wait behind it, and nothing is sent.
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let new = esme.submit(submit("447700900123", "new"));
    let of_test = esme.submit(submit("885551", "to a test target"));
    let why = admin.get(&format!("/v1/messages/{}", ids[1]));
    assert!(
        why["waits"].to_string().contains("smsc serve --suspended"),
        "{why}"
    );
    assert_eq!(
        admin.post(&format!("/v1/messages/{}/cancel", ids[0])).0,
        200
    );
    assert_eq!(smsc.final_state(&ids[0]), "DELETED");
    for id in [&ids[1], &new, &of_test] {
        assert_eq!(admin.get(&format!("/v1/messages/{id}"))["state"], "ENROUTE");
    }
    let resumed = smsc.command(&["queue", "resume", "operator:up"]);
    assert!(resumed.success, "{}", resumed.stderr);
    for id in [&ids[1], &new] {
        assert_eq!(smsc.final_state(id), "DELIVERED");
    }
    assert_eq!(
        admin.get(&format!("/v1/messages/{of_test}"))["state"],
        "ENROUTE"
    );
    // A start without the flag resumes the rest.
    smsc.terminate();
    smsc.start_again();
    assert_eq!(smsc.final_state(&of_test), "DELIVERED");
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    until("a receipt", || {
        esme.deliver().esm_class.eq(&4).then_some(())
    });
}
