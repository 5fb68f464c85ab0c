//! For tests: a context over a store in a temporary folder, one account and one operator; and what operators send.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::actors::context::plan::Plan;
use crate::actors::context::{NodeContext, NodeParts};
use crate::actors::control::settings::{StoredConfiguration, settle};
use crate::actors::egress::throttle;
use crate::actors::receipts;
use crate::actors::receipts::correlation::{self, Correlation};
use crate::actors::routing::policy::PolicyState;
use crate::actors::runtime::supervise::{self, ActorSlot, Escalate, Health};
use crate::config::{Account, Config, OperatorConfig, RouteConfig};
use crate::domain::id::IdGenerator;
use crate::domain::route::RoutingStep;
use crate::smpp::receipt::{self, ReceiptText};
use crate::smpp::{SubmitSm, Tlvs, tag};
use crate::store::Store;
use crate::store::cluster::ClusterStore;
use crate::store::sqlite::{SqliteOptions, SqliteStore};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::traces::Traces;

/// The context of a process without actors, for the account `test` and the operator `up`, which has `binds`.
pub struct TestNode {
    pub context: Arc<NodeContext>,
    pub configuration: Arc<StoredConfiguration>,
    pub operator: u32,
    pub account: u32,
    correlation: RefCell<Option<ActorSlot<Correlation>>>,
    _folder: tempfile::TempDir,
}

impl TestNode {
    /// Makes results durable from now on.
    pub fn start_correlation(&self) {
        let slot = self.correlation.take().expect("started once");
        let (node, health) = (Arc::clone(&self.context), Health::new("correlation"));
        let for_actor = Arc::clone(&health);
        let escalate: Escalate = Arc::new(|name: &str| panic!("{name} escalated"));
        slot.start(&actix::Arbiter::current(), health, escalate, move || {
            Correlation::new(node, for_actor, Vec::new(), Vec::new())
        });
    }
}

/// Gives the threads of the store a real millisecond.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing else runs on this thread"
)]
pub fn give_way() {
    std::thread::sleep(Duration::from_millis(1));
}

/// Waits on a paused clock until `holds`, for minutes of it.
///
/// A paused clock runs ahead while the threads of the store work, so each step also gives them a real millisecond.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..30_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        give_way();
    }
    panic!("in vain: {what}");
}

/// With a `cluster`, the node is a member of it.
pub async fn node(binds: u32, cluster: Option<Arc<dyn ClusterStore>>) -> TestNode {
    node_with(binds, cluster, |_| {}).await
}

/// Like [`node`], with a changed configuration.
pub async fn node_with(
    binds: u32,
    cluster: Option<Arc<dyn ClusterStore>>,
    change: impl FnOnce(&mut Config),
) -> TestNode {
    let node = node_that_writes(binds, cluster, change).await;
    // Whoever asks Correlation is told that there is none.
    node.correlation.take();
    node
}

/// Like [`node_with`], and Correlation can be started.
pub async fn node_that_writes(
    binds: u32,
    cluster: Option<Arc<dyn ClusterStore>>,
    change: impl FnOnce(&mut Config),
) -> TestNode {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_owned();
    let mut config = Config {
        data_dir: path.clone(),
        account: vec![Account {
            system_id: "test".to_owned(),
            password: "test".into(),
            ..Account::default()
        }],
        operator: vec![OperatorConfig {
            id: "up".to_owned(),
            address: "127.0.0.1:9".to_owned(),
            system_id: "smsc".to_owned(),
            binds,
            ..OperatorConfig::default()
        }],
        route: vec![RouteConfig {
            to: vec![RoutingStep::single("up".to_owned())],
            ..RouteConfig::default()
        }],
        ..Config::default()
    };
    change(&mut config);
    let (store, plan, state) = tokio::task::spawn_blocking(move || {
        let options = SqliteOptions {
            min_free_mib: 0,
            results_linger: Duration::ZERO,
            ..SqliteOptions::new(path)
        };
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(options).expect("a store"));
        let settled = settle(config, None, store.as_ref()).expect("it is valid");
        let plan = Plan::build(settled.config, store.as_ref()).expect("a plan");
        (store, plan, settled.state)
    })
    .await
    .expect("no panic");
    let operator = plan.operators().next().expect("an operator").id;
    let account = plan.account("test").expect("an account").id;
    let (correlation, slot) = supervise::slot::<correlation::Correlation>(correlation::MAILBOX);
    let (receipts, _) = supervise::slot::<receipts::Receipts>(receipts::MAILBOX);
    let (throttle, _) = supervise::slot::<throttle::Throttle>(throttle::MAILBOX);
    let metrics = Arc::new(Metrics::new(&mut Default::default()));
    let context = NodeContext::new(NodeParts {
        store,
        cluster,
        ids: IdGenerator::new(0, 0),
        metrics: Arc::clone(&metrics),
        traces: Traces::off(&metrics),
        plan,
        correlation: correlation.into(),
        receipts: receipts.into(),
        throttle: throttle.into(),
    });
    let policy = Arc::new(PolicyState::new(&context.config().policy));
    let configuration = StoredConfiguration::new(Arc::clone(&context), state, policy);
    TestNode {
        context,
        configuration,
        operator,
        account,
        correlation: RefCell::new(Some(slot)),
        _folder: folder,
    }
}

/// A receipt of an operator over SMPP: what became of the message with this id to this number, `done_at` Unix ms.
pub fn operator_receipt(
    id: &str,
    state: u8,
    error: Bytes,
    number: Bytes,
    done_at: i64,
) -> SubmitSm {
    let text = ReceiptText {
        id: Bytes::copy_from_slice(id.as_bytes()),
        sub: 1,
        dlvrd: u32::from(state == receipt::DELIVERED),
        submit_date_ms: None,
        done_date_ms: Some(done_at),
        stat: Bytes::from_static(receipt::state_word(state).as_bytes()),
        err: error,
        text: Bytes::new(),
    };
    let mut tlvs = Tlvs::new();
    tlvs.push(tag::RECEIPTED_MESSAGE_ID, &[id.as_bytes(), b"\0"].concat());
    tlvs.push(tag::MESSAGE_STATE, &[state]);
    SubmitSm {
        source_addr: number,
        esm_class: receipt::ESM_RECEIPT,
        short_message: receipt::format(&text, true).into(),
        tlvs,
        ..SubmitSm::default()
    }
}
