//! The first steps of the console in a real browser: from an empty SMSC to a message that is delivered.

use crate::console::pictures;
use crate::harness::{Peer, Simulator, Smsc, browser_script, free_port, run};

#[test]
fn an_empty_smsc_is_led_to_its_first_message() {
    let operator = Simulator::new().flags("--password right").start();
    let smsc = Smsc::new().start();
    let admin = smsc.admin();
    let reader = admin.with_role("read", "looker");
    let folder = tempfile::tempdir().unwrap();
    let pictures = pictures();
    let arguments = [
        "empty_smsc_delivers,what_is_there_is_gone_on_with",
        &format!("http://{}/", smsc.http()),
        admin.token(),
        pictures.to_str().unwrap(),
        reader.token(),
        &operator.address().to_string(),
        &format!("127.0.0.1:{}", free_port()),
        &smsc.smpp().port().to_string(),
    ];
    let mut script = browser_script("console_first_steps.js", &arguments, folder.path());
    let finished = run(&mut script);
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert!(finished.success, "{said}");
    smsc.assert_no_panic();
    let mut events = finished.stdout.lines().map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event
    });
    let made = events.find(|event| event["event"] == "made").unwrap();
    // What is on the sheet is right.
    let password = made["password"].as_str().unwrap();
    Peer::bind(smsc.smpp(), "shop", password).unbind();
    assert_eq!(operator.wait_for(1)[0].destination, "447911123456");
    assert!(!smsc.log().contains(password));
}
