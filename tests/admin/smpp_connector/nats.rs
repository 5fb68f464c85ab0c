//! Commands come from NATS and events go there, by NATS_URL alone.

use async_nats::jetstream;
use async_nats::jetstream::stream::Config;
use serde_json::{Value, json};

use super::drop_in::start;
use super::{OPERATOR, bind_of};
use crate::harness::{
    FakeOperator, Login, Management, PrivateNats, receipt, send_receipt, taken, until,
};

const STREAM: &str = "SMS_DISPATCH";
const COMMAND: &str = "d3b07384-d9a0-4c9b-8f3e-6c1a5b0c7e11";

async fn publish(url: &str, command: &Value) {
    let jetstream = jetstream::new(async_nats::connect(url).await.unwrap());
    let config = Config {
        name: STREAM.to_owned(),
        subjects: vec!["smpp.operator.*".to_owned()],
        ..Config::default()
    };
    jetstream.get_or_create_stream(config).await.unwrap();
    let subject = format!("smpp.operator.{OPERATOR}");
    let body = command.to_string().into();
    jetstream
        .publish(subject, body)
        .await
        .unwrap()
        .await
        .unwrap();
}

/// How many commands the consumer of smpp-connector has left.
async fn left(url: &str) -> Option<u64> {
    let jetstream = jetstream::new(async_nats::connect(url).await.ok()?);
    let stream = jetstream.get_stream(STREAM).await.ok()?;
    let info = stream
        .consumer_info(format!("smpp-connector-{OPERATOR}"))
        .await
        .ok()?;
    Some(info.num_pending + info.num_ack_pending as u64)
}

#[test]
fn a_command_goes_out_and_its_report_comes_back() {
    let nats = PrivateNats::of(&["sms.dlr.inbound", "operator.health"], Login::Nobody);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(publish(
        &nats.url(),
        &json!({
            "version": "1.0", "messageId": COMMAND, "to": "447700900123", "from": "ACME", "text": "hello",
            "operatorId": OPERATOR, "accountId": "tenant", "messageType": "SMS", "encoding": "GSM7",
        }),
    ));
    let operator = FakeOperator::listen();
    let management = Management::start();
    management.set(OPERATOR, operator.address(), "s3cr3t");
    let (management_url, nats_url) = (management.url(), nats.url());
    let _smsc = start(&[
        ("OPERATOR_IDS", OPERATOR),
        ("OPERATOR_MGMT_URL", &management_url),
        ("NATS_URL", &nats_url),
    ]);
    let (mut bind, _) = bind_of(&operator);

    // The command waited in its stream; it is acknowledged with the operator's answer.
    let sent = taken(&mut bind, "theirs");
    assert_eq!(&sent.destination_addr[..], b"447700900123");
    until("the command to be acknowledged", || {
        (runtime.block_on(left(&nats_url)) == Some(0)).then_some(())
    });
    let status = send_receipt(&mut bind, receipt("id:theirs stat:DELIVRD err:000"));
    assert!(status.is_ok());
    let report = until("the report", || {
        let all = nats.published();
        let report = all.iter().find(|one| one.subject == "sms.dlr.inbound")?;
        serde_json::from_slice::<Value>(&report.body).ok()
    });
    assert_eq!(report["messageId"], COMMAND, "{report}");
    assert_eq!(report["operatorMessageId"], "theirs", "{report}");
    assert_eq!(report["operatorId"], OPERATOR, "{report}");
    assert_eq!(report["status"], "DELIVERED", "{report}");
    until("the bind to be told", || {
        let all = nats.published();
        let told = all.iter().any(|one| {
            let body: Value = serde_json::from_slice(&one.body).unwrap();
            one.subject == "operator.health"
                && body["status"] == "BOUND"
                && body["operatorId"] == OPERATOR
        });
        told.then_some(())
    });
}

#[test]
fn commands_of_an_operator_that_is_away_go_to_its_backup() {
    const BACKUP: &str = "550e8400-e29b-41d4-a716-446655440002";
    let nats = PrivateNats::of(&["sms.dlr.inbound", "operator.health"], Login::Nobody);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (primary, backup) = (FakeOperator::listen(), FakeOperator::listen());
    let management = Management::start();
    let with_backup = json!({"backupOperatorId": BACKUP});
    management.set_with(OPERATOR, primary.address(), "s3cr3t", &with_backup);
    management.set(BACKUP, backup.address(), "s3cr3t");
    let (management_url, nats_url) = (management.url(), nats.url());
    let _smsc = start(&[
        ("OPERATOR_IDS", &format!("{OPERATOR},{BACKUP}")),
        ("OPERATOR_MGMT_URL", &management_url),
        ("NATS_URL", &nats_url),
    ]);
    let (mut first, _) = bind_of(&primary);
    let (mut second, _) = bind_of(&backup);
    let send = |id: &str| {
        let command = json!({"version": "1.0", "messageId": id, "to": "447700900123", "from": "ACME", "text": id});
        runtime.block_on(publish(&nats_url, &command));
    };
    let wait_for = |status: &str| {
        until(&format!("{status} to be told"), || {
            let all = nats.published();
            let told = all.iter().any(|one| {
                let body: Value = serde_json::from_slice(&one.body).unwrap();
                one.subject == "operator.health"
                    && body["status"] == status
                    && body["operatorId"] == OPERATOR
            });
            told.then_some(())
        });
    };
    wait_for("BOUND");
    send("one");
    assert_eq!(&taken(&mut first, "1").short_message[..], b"one");
    // Its next address is one where nobody listens.
    management.set_with(OPERATOR, super::address(), "s3cr3t", &with_backup);
    drop(first);
    wait_for("UNBOUND");
    send("two");
    assert_eq!(&taken(&mut second, "2").short_message[..], b"two");
    management.set_with(OPERATOR, primary.address(), "s3cr3t", &with_backup);
    let (mut again, _) = bind_of(&primary);
    wait_for("FAILBACK");
    send("three");
    assert_eq!(&taken(&mut again, "3").short_message[..], b"three");
    until("every command to be acknowledged", || {
        (runtime.block_on(left(&nats_url)) == Some(0)).then_some(())
    });
}
