//! The table `smpp.message_correlations`, which other programs read, is maintained by the janitor's
//! node.

use std::time::Duration;

use crate::harness::{self, Cluster, FakeOperator, Peer, submit, taken, within};

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
                .toml("[correlation]\nttl = \"2s\"\nsweep = \"1s\"")
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
    assert_eq!(count("expired"), Some(1.0));
    assert_eq!(count("deleted"), Some(0.0));
}

/// Answers requests of the node meanwhile.
fn bind_is_alive(bind: &mut Peer) {
    bind.acknowledge_all();
}
