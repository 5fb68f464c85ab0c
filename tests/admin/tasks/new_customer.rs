//! A message through an account, an operator and a route that were not there before.

use serde_json::{Value, json};

use super::desk::Desk;

const NUMBER: &str = "447700900123";

pub fn nothing_yet(desk: &mut Desk) -> Value {
    json!({ "address": desk.up.address().to_string(), "to": NUMBER })
}

/// Writes all of it into a file, applies that, and sends a message.
pub fn add_and_send(desk: &mut Desk, known: &Value) -> String {
    let text = format!(
        "[[account]]\nsystem_id = \"shop\"\npassword = \"pw\"\n\n\
         [[operator]]\nid = \"up\"\naddress = {}\nsystem_id = \"smsc\"\npassword = \"old\"\n\n\
         [[route]]\nprefix = \"447\"\nto = [\"up\"]\n\n\
         [[route]]\nprefix = \"999\"\nto = [\"test:failed\"]\n",
        known["address"]
    );
    std::fs::write(desk.smsc.file("first.toml"), text).unwrap();
    desk.tell(&["apply", "--file", "first.toml", "--yes"]);
    let host = desk.smsc.smpp().to_string();
    desk.told(&[
        "send",
        "--host",
        &host,
        "--system-id",
        "shop",
        "--password",
        "pw",
        "--to",
        known["to"].as_str().unwrap(),
        "hello",
    ])
}

pub fn is_through(desk: &mut Desk, learnt: &str) {
    assert!(learnt.contains("DELIVERED"), "{learnt}");
    let found = desk.admin().get(&format!("/v1/messages?to={NUMBER}"));
    let message = &found["messages"][0];
    assert_eq!(message["state"], "DELIVERED", "{found}");
    assert_eq!(message["sender"], "account:shop");
    assert_eq!(desk.up.wait_for(1)[0].destination, NUMBER);
}
