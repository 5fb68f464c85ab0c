//! Sinks and sources of NATS by TLS with a credentials file, by a real server that takes nothing else.

use serde_json::{Value, json};

use crate::harness::{Authority, Login, PrivateNats, Scene, until};

#[test]
fn sinks_and_sources_speak_tls_and_log_in_with_a_credentials_file() {
    let authority = Authority::new("brokers");
    let login = Login::jwt();
    let Login::Jwt { credentials, .. } = login.clone() else {
        panic!("no credentials");
    };
    let nats = PrivateNats::by_tls(&["sms.>", "smpp.operator.>"], login, &authority);
    let files = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = files.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let other = write("other.pem", &Authority::new("other").pem);
    let trusted = write("authority.pem", &authority.pem);
    let credentials = write("credentials", &credentials);
    let mut scene = Scene::with("", |smsc| {
        smsc.with_api()
            .http(&format!("files_dir = '{}'", files.path().display()))
    });
    let admin = scene.smsc.admin();
    let put = |authority: &str| {
        let common = json!({
            "servers": [nats.url()], "credentials_file": credentials, "ca_file": authority, "timeout": "2s",
        });
        let with = |more: Value| {
            let mut all = common.clone();
            all.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            all
        };
        let sink = with(json!({"events": ["ended"], "subject": "sms.events.ended"}));
        let source = with(json!({
            "stream": "EVENTS", "subject": "smpp.operator.up", "account": "test", "operator": "up",
        }));
        for (path, body) in [("event-sinks/all", sink), ("nats-sources/up", source)] {
            let answer = admin.call("PUT", &format!("/v1/{path}"), Some(&body));
            assert!(matches!(answer.0, 200 | 201), "{answer:?}");
        }
    };
    let sink = || admin.get("/v1/sinks")["sinks"][0].clone();
    let source = || admin.get("/v1/nats-sources/state")["sources"][0].clone();

    put(&other);
    let command =
        json!({"version": "1.0", "messageId": "m1", "to": "447700900123", "text": "hello"});
    nats.publish("smpp.operator.up", "m1", &command);
    let untold = scene.submit_as("a");
    scene.report("a", "DELIVRD");
    until("neither to trust the server", || {
        let failed = sink()["last_error"].is_string() && source()["trouble"].is_string();
        (failed && source()["connected"] == false).then_some(())
    });

    put(&trusted);
    let sent = scene.take("b");
    assert_eq!(
        &sent.short_message[..],
        b"hello",
        "the message of the command"
    );
    scene.report("b", "DELIVRD");
    let ended = until("both ends", || {
        let all = nats.published().into_iter();
        let ended: Vec<Value> = all
            .filter(|one| one.subject == "sms.events.ended")
            .map(|one| serde_json::from_slice(&one.body).unwrap())
            .collect();
        (ended.len() == 2).then_some(ended)
    });
    assert!(
        ended.iter().any(|event| event["id"] == *untold),
        "{ended:?}"
    );
    assert!(
        ended.iter().any(|event| event["client_reference"] == "m1"),
        "{ended:?}"
    );
}
