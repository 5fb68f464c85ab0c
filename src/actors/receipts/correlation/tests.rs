//! The correlation actor of a node that is one of several.

use super::*;
use crate::actors::cluster::tests::Shelf;
use crate::actors::runtime::supervise::Health;
use crate::actors::test_support::{self, TestNode};
use crate::clock;
use crate::config::Config;
use crate::smpp::CommandStatus;
use crate::store::WriteBatch;
use crate::store::cluster::LeasedResource;

/// Waits for the gauge of parked receipts, which is updated many times a second; fails after minutes.
async fn shows(context: &NodeContext, parked: u64) {
    let what = format!("{parked} parked receipts");
    let shown = || context.correlation_snapshot.get().parked;
    test_support::until(&what, || shown() == parked).await;
}

/// A node with the actor, and with receipts in its store that were parked these many seconds ago.
async fn started(ages: &[u64], change: impl FnOnce(&mut Config)) -> TestNode {
    let node = test_support::node_with(1, Some(Arc::new(Shelf::default())), change).await;
    let context = &node.context;
    let row = |age: &u64| {
        let at = clock::now_ms() - *age as i64 * 1000;
        ParkedRow {
            id: context.ids.next(at).unwrap(),
            operator: node.operator,
            operator_message_id: age.to_string().into(),
            at,
            receipt: prost::Message::encode_to_vec(&OperatorReceipt::default()).into(),
        }
    };
    let rows: Vec<ParkedRow> = ages.iter().map(row).collect();
    let batch = WriteBatch {
        park: rows.clone(),
        ..WriteBatch::default()
    };
    context.store.write(batch).await.expect("written");
    let health = Health::new("correlation");
    Correlation::new(Arc::clone(context), health, Vec::new(), rows).start();
    // The actor first reads the store. A paused clock would run ahead meanwhile, for minutes.
    while context.correlation_snapshot.get().parked == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::pause();
    node
}

fn make_janitor(context: &NodeContext) {
    let local_lease = &context.local_lease;
    local_lease.renew(Instant::now() + Duration::from_secs(3600));
    assert!(local_lease.gain(local_lease.generation(), &[LeasedResource::Janitor], || {}));
}

#[actix::test]
async fn after_a_minute_parked_receipts_are_the_janitors() {
    let node = started(&[61, 0], |_| {}).await;
    shows(&node.context, 1).await;
    shows(&node.context, 0).await;
    make_janitor(&node.context);
    shows(&node.context, 2).await;
}

#[actix::test]
async fn the_janitor_drops_what_all_nodes_have_parked_beyond_the_limit() {
    let node = started(&[300, 200, 100, 0], |config| {
        config.correlation.parked_max = 2;
    })
    .await;
    shows(&node.context, 1).await;
    make_janitor(&node.context);
    shows(&node.context, 2).await;
    // The store handles requests in order.
    let last = WriteBatch {
        unpark: vec![1],
        ..WriteBatch::default()
    };
    node.context.store.write(last).await.expect("written");
    let store = Arc::clone(&node.context.store);
    let kept = tokio::task::spawn_blocking(move || store.parked(10)).await;
    let kept = kept.expect("no panic").expect("it is read");
    let kept: Vec<_> = kept
        .iter()
        .map(|row| &row.operator_message_id[..])
        .collect();
    assert_eq!(kept, [&b"100"[..], b"0"]);
}

#[actix::test]
async fn parts_that_two_nodes_have_parked_become_one_receipt() {
    let node = started(&[0], |_| {}).await;
    let context = &node.context;
    // The paused clock runs ahead while the store is read: they stay young.
    let later = clock::now_ms() + 3_600_000;
    let part = |number: u32, text: &'static [u8], at: i64| {
        let part = crate::pb::ReceiptPart {
            reference: 7,
            number,
            total: 2,
            text: bytes::Bytes::from_static(text),
            ..crate::pb::ReceiptPart::default()
        };
        let receipt = OperatorReceipt {
            extras: Some(Box::new(crate::pb::ReceiptExtras {
                part: Some(part),
                ..crate::pb::ReceiptExtras::default()
            })),
            ..OperatorReceipt::default()
        };
        ParkedRow {
            id: context.ids.next(clock::now_ms()).unwrap(),
            operator: node.operator,
            operator_message_id: bytes::Bytes::new(),
            at,
            receipt: prost::Message::encode_to_vec(&receipt).into(),
        }
    };
    let batch = WriteBatch {
        park: vec![
            part(2, b"at:UNDELIV err:034", later),
            part(1, b"id:long dlvrd:001 st", later + 1),
        ],
        ..WriteBatch::default()
    };
    context.store.write(batch).await.expect("written");
    make_janitor(context);
    // The whole, which is of no message here, and the other one. Their number is no sign: so many were there before.
    let whole = [("0".to_owned(), false), ("long".to_owned(), true)];
    let mut kept = Vec::new();
    for _ in 0..10_000 {
        kept = parked(context).await;
        if kept == whole {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(kept, whole);
}

/// The parked receipts by the operator's ids, and whether each says that its message is undeliverable.
async fn parked(context: &NodeContext) -> Vec<(String, bool)> {
    let store = Arc::clone(&context.store);
    let rows = tokio::task::spawn_blocking(move || store.parked(10)).await;
    let rows = rows.expect("no panic").expect("it is read");
    let mut kept: Vec<(String, bool)> = rows
        .iter()
        .map(|row| {
            let receipt = <OperatorReceipt as prost::Message>::decode(row.receipt.clone()).unwrap();
            let id = String::from_utf8_lossy(&row.operator_message_id).into_owned();
            (id, receipt.state() == MessageState::Undeliverable)
        })
        .collect();
    kept.sort_unstable();
    kept
}

/// Stands in for a bind: keeps the answers to its receipts.
struct ListeningBind(Arc<std::sync::Mutex<Vec<ReceiptResult>>>);

impl Actor for ListeningBind {
    type Context = Context<Self>;
}

impl Handler<ReceiptReply> for ListeningBind {
    type Result = ();

    fn handle(&mut self, reply: ReceiptReply, _: &mut Self::Context) {
        self.0.lock().expect("nobody panics").extend(reply.results);
    }
}

#[actix::test]
async fn a_receipt_that_cannot_be_kept_is_refused_with_its_repeats() {
    const SESSION: u64 = 7;
    let node = test_support::node(1, None).await;
    let context = &node.context;
    let id = context.ids.next(clock::now_ms()).unwrap();
    let sent = vec![Awaited {
        id,
        operator: node.operator,
        theirs: bytes::Bytes::from_static(b"abc"),
        at: clock::now_ms(),
    }];
    let health = Health::new("correlation");
    let correlation = Correlation::new(Arc::clone(context), health, sent, Vec::new()).start();
    let answers = Arc::default();
    let bind = ListeningBind(Arc::clone(&answers)).start();
    let port = crate::actors::context::binds::BindPort::new(SESSION, None);
    *port.replies.lock().expect("nobody panics") = Some(bind.recipient());
    context.binds.add(port);
    let store = Arc::clone(&context.store);
    let closed = tokio::task::spawn_blocking(move || store.close()).await;
    closed.expect("no panic");
    let receipt = |sequence| OperatorReceipt {
        sequence,
        operator_message_id: bytes::Bytes::from_static(b"abc"),
        state: MessageState::Delivered.into(),
        ..OperatorReceipt::default()
    };
    // Two that come in one batch, and one more.
    for receipts in [vec![receipt(1), receipt(2)], vec![receipt(3)]] {
        let batch = ReceiptBatch {
            operator: node.operator,
            session: SESSION,
            receipts,
        };
        correlation.send(batch).await.expect("it is handled");
    }
    tokio::time::pause();
    let answered = || answers.lock().expect("nobody panics").len();
    test_support::until("three answers", || answered() == 3).await;
    let mut answers = std::mem::take(&mut *answers.lock().expect("nobody panics"));
    answers.sort_by_key(|answer| answer.sequence);
    let refused = |sequence| ReceiptResult {
        sequence,
        status: CommandStatus::ESME_RX_T_APPN.0,
    };
    assert_eq!(answers, [refused(1), refused(2), refused(3)]);
}

/// An operator says ENROUTE and DELIVRD right behind each other, before its answer or after it.
#[actix::test]
async fn the_end_that_comes_with_an_intermediate_state_is_not_a_repetition() {
    for is_early in [false, true] {
        let node = test_support::node(1, None).await;
        let context = &node.context;
        let id = context.ids.next(clock::now_ms()).unwrap();
        let theirs = bytes::Bytes::from_static(b"abc");
        let sent = Awaited {
            id,
            operator: node.operator,
            theirs: theirs.clone(),
            at: clock::now_ms(),
        };
        let known = if is_early { Vec::new() } else { vec![sent] };
        let health = Health::new("correlation");
        let correlation = Correlation::new(Arc::clone(context), health, known, Vec::new()).start();
        let receipt = |state: MessageState| OperatorReceipt {
            operator_message_id: theirs.clone(),
            state: state.into(),
            ..OperatorReceipt::default()
        };
        let batch = ReceiptBatch {
            operator: node.operator,
            session: 0,
            receipts: vec![
                receipt(MessageState::Enroute),
                receipt(MessageState::Delivered),
            ],
        };
        correlation.send(batch).await.expect("it is handled");
        if is_early {
            let sent = vec![crate::pb::Sent {
                id,
                attempt: 1,
                operator_message_id: theirs.clone(),
                message: Some(Box::default()),
                receipt_expected: true,
                ..crate::pb::Sent::default()
            }];
            let batch = SentBatch {
                operator: node.operator,
                sent,
                ..SentBatch::default()
            };
            correlation.send(batch).await.expect("it is handled");
        }
        tokio::time::pause();
        let shown = || context.correlation_snapshot.get();
        test_support::until("the end to be matched", || shown().matched_total == 1).await;
        assert_eq!(shown().repeated_total, 0, "{is_early}");
        tokio::time::resume();
    }
}
