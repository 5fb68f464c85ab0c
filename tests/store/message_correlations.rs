//! The table `smpp.message_correlations`, which other programs read, is maintained by the janitor's
//! node.

use std::time::Duration;

use serde_json::json;

use crate::harness::{self, Cluster, FakeOperator, Peer, submit, taken, until, within};
use smsc::smpp::SubmitSm;

/// A UUID as an operator's id, as other programs use it.
const OPERATOR: &str = "6f1e7a3c-3f4b-4a57-9d5e-0c1d2e3f4a5b";
const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn rows_end_with_their_time_and_go_with_the_retention() {
    let operator = FakeOperator::listen();
    let address = operator.address();
    let cluster = Cluster::of(1)
        .each(move |smsc| {
            smsc.account("test", "test")
                .operator_with(OPERATOR, address, "correlation_ttl = \"1h\"")
                .route("", OPERATOR)
                // Long enough for the row to be seen as it was written.
                .toml("[correlation]\nttl = \"8s\"\nsweep = \"1s\"")
                .env("SMSC_POSTGRES__MESSAGE_CORRELATIONS", "true")
        })
        .start();
    let node = &cluster.nodes[0];
    let mut bind = operator.accept_bind();
    node.wait_for_binds(OPERATOR, 1);
    let mut esme = Peer::bind(node.smpp(), "test", "test");
    esme.submit(submit("447700900123", "hello"));
    taken(&mut bind, "theirs");
    let row = |sql: &str| {
        let rows = cluster.postgres.rows(sql);
        rows.first().map(|row| row.get::<_, String>(0))
    };
    let of_row = "SELECT status || ' ' || operator_id FROM smpp.message_correlations";
    let written = within(harness::PATIENCE, || row(of_row));
    assert_eq!(written, Some(format!("SUBMITTED {OPERATOR}")));
    let expired = format!("EXPIRED {OPERATOR}");
    within(LIMIT, || {
        bind_is_alive(&mut bind);
        (row(of_row).as_ref() == Some(&expired)).then_some(())
    })
    .expect("the row was never swept");
    let count = |result: &str| {
        let name = format!("smsc_message_correlations_total{{result=\"{result}\"}}");
        node.admin().metric(&name)
    };
    // The row is counted after it was written.
    until("the row to be counted", || {
        (count("expired") == Some(1.0)).then_some(())
    });
    assert_eq!(count("deleted"), Some(0.0));
}

/// A vendor's TLV in which the platform says what it calls a message.
const THEIR_TLV: u16 = 0x1403;

#[test]
fn a_message_is_called_there_as_the_platform_calls_it() {
    let operator = FakeOperator::listen();
    let address = operator.address();
    let cluster = Cluster::of(1)
        .each(move |smsc| {
            smsc.account_with("test", "test", "reference_tlv = 0x1403")
                .operator_with(OPERATOR, address, "long_messages = \"udh\"")
                .route("", OPERATOR)
                .with_api()
                .env("SMSC_POSTGRES__MESSAGE_CORRELATIONS", "true")
        })
        .start();
    let node = &cluster.nodes[0];
    let mut bind = operator.accept_bind();
    node.wait_for_binds(OPERATOR, 1);

    let (by_tlv, by_request) = (
        "0b0e9a4e-6a51-4d0a-8a3a-0c6f4f9f1c01",
        "f2a7c1de-1c3b-4b1e-9c57-5d1d2a3b4c02",
    );
    let mut esme = Peer::bind(node.smpp(), "test", "test");
    let mut named = submit("447700900123", "hello");
    named.tlvs.push(THEIR_TLV, format!("{by_tlv}\0").as_bytes());
    esme.submit(named);
    taken(&mut bind, "short");
    let text = "two parts ".repeat(20);
    let request = json!({"to": "447700900124", "text": text, "reference": by_request});
    let (status, answer) =
        (node.api_of("test", "both")).call("POST", "/v1/messages", Some(&request));
    assert_eq!(status, 202, "{answer}");
    taken(&mut bind, "first");
    taken(&mut bind, "second");
    esme.submit(SubmitSm {
        short_message: text.into(),
        ..submit("447700900125", "")
    });
    taken(&mut bind, "one");
    taken(&mut bind, "other");

    let of = |ids: &str| {
        let rows = cluster.postgres.rows(&format!(
            "SELECT message_id::text FROM smpp.message_correlations
             WHERE operator_message_id IN ({ids}) ORDER BY operator_message_id"
        ));
        let ids: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        ids
    };
    let all = within(harness::PATIENCE, || {
        bind_is_alive(&mut bind);
        let all = of("'short', 'first', 'second', 'one', 'other'");
        (all.len() == 5).then_some(())
    });
    assert!(all.is_some(), "not all rows were written");
    assert_eq!(of("'short'"), [by_tlv]);
    assert_eq!(of("'first', 'second'"), [by_request, by_request]);
    // Nobody has named this one: it is the same for both parts all the same.
    let made = of("'one', 'other'");
    assert_eq!(made[0], made[1]);
    assert!(
        ![by_tlv, by_request].contains(&made[0].as_str()),
        "{made:?}"
    );
}

/// Answers requests of the node meanwhile.
fn bind_is_alive(bind: &mut Peer) {
    bind.acknowledge_all();
}
