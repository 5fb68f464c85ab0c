//! A store that was made by the demo says so, with the command that puts the file in its place.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::failing_operator::attention;
use crate::harness::{Listener, Peer, Process, Simulator, Smsc, binary, stat_of, submit, until};

const TOKEN: &str = "harness-token";

/// Runs the demo on the ports and the data folder of an SMSC that is stopped, until it has made its store.
fn demo(smsc: &Smsc) {
    let mut command = Command::new(binary());
    command
        .arg("serve")
        .current_dir(smsc.file(""))
        .env("SMSC_DATA_DIR", smsc.data_dir())
        .env("SMSC_SMPP__LISTEN", smsc.smpp().to_string())
        .env("SMSC_HTTP__LISTEN", smsc.http().to_string())
        .env("SMSC_HTTP__ADMIN_TOKEN", TOKEN)
        .env("SMSC_STORE__MIN_FREE_MIB", "1");
    let mut demo = Process::start("the demo", command, &smsc.file("demo.log"));
    until("the demo", || {
        demo.assert_running();
        let account = smsc.admin().try_get("/v1/accounts/demo");
        account.is_ok().then_some(())
    });
    demo.terminate();
}

#[test]
fn a_store_of_the_demo_says_which_command_puts_the_file_in_its_place() {
    let up = Simulator::new().start();
    let mut smsc = Smsc::new().relaying_to(up.address()).start();
    // Its store was made from its file.
    assert!(smsc.admin().get("/v1/config").get("unused_file").is_none());
    smsc.terminate();
    fs::remove_dir_all(smsc.data_dir()).unwrap();
    demo(&smsc);

    let checked = smsc.run(&["check-config", "--config", "smsc.toml"]);
    assert!(checked.success, "{}", checked.stderr);
    assert!(
        checked.stdout.contains("was made by the demo")
            && checked.stdout.contains("smsc apply -f smsc.toml"),
        "{}",
        checked.stdout
    );
    smsc.start_again();
    let said = "made by the demo (smsc without a file): account test and operator up of smsc.toml are not used. \
                `smsc apply -f smsc.toml` puts this file in its place";
    assert!(smsc.log().contains(said), "{}", smsc.log());
    let shown = smsc.admin().get("/v1/config");
    let unused = shown["unused_file"].as_str().unwrap();
    assert!(unused.contains(said), "{unused}");
    let mut events = Listener::open(smsc.http(), TOKEN, "/v1/events");
    until("the overview to say so", || {
        let all = attention(&mut events);
        all.iter().any(|text| text == unused).then_some(())
    });
    let ready = smsc.admin().get("/health/ready");
    assert!(!ready.to_string().contains("smsc.toml"), "{ready}");

    // What GET gives may be put back.
    let same = smsc.admin().put("/v1/config", &shown);
    assert_eq!(same.body["changes"], Value::Array(Vec::new()));
    smsc.apply();
    assert!(smsc.admin().get("/v1/config").get("unused_file").is_none());
    until("the overview to say nothing of it", || {
        let all = attention(&mut events);
        (!all.iter().any(|text| text.contains("demo"))).then_some(())
    });
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    assert_eq!(stat_of(&esme.deliver()), (id, 2));
}
