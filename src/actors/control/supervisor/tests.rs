//! Tests of the root actor: queues before plans, and binds that are made anew.

use std::time::Duration;

use super::*;
use crate::actors::cluster::tests::Shelf;
use crate::actors::control::settings::{Condition, ConfigChange};
use crate::actors::test_support;
use crate::domain::settings::{ResourceKey, ResourceKind};
use crate::store::cluster::LeasedResource;

#[actix::test]
async fn a_plan_is_nobodys_before_its_queues_exist() {
    let test_node = test_support::node(1, None).await;
    let node = Arc::clone(&test_node.context);
    let configuration = &test_node.configuration;
    let escalate: Escalate = Arc::new(|name: &str| panic!("{name} escalated"));
    let core = actix::Arbiter::current();
    let (ingest, _) = supervise::slot(1);
    let (addr, slot) = supervise::slot(16);
    let (for_root, lanes) = (Arc::clone(&node), vec![(core.clone(), ingest)]);
    let for_slots = Arc::clone(&escalate);
    let handle = core.clone();
    slot.start(&core, Health::new("supervisor"), escalate, move || {
        Supervisor::new(
            for_root,
            handle,
            lanes,
            for_slots,
            Arc::default(),
            HashMap::new(),
        )
    });
    configuration.state.set_supervisor(addr.into());
    for number in 0..20 {
        // The routes to it come in the same version, and a thread of Ingest may read the plan at
        // any moment.
        let name = format!("more-{number}");
        let watched = Arc::clone(&node);
        let watching = std::thread::spawn({
            let name = name.clone();
            move || loop {
                let plan = watched.full_plan();
                let found = plan.operators().find(|one| one.config.id == name);
                if let Some(operator) = found {
                    return watched.queue(operator.id).is_some();
                }
                std::hint::spin_loop();
            }
        });
        let given = serde_json::json!({
            "id": name, "address": "127.0.0.1:9", "system_id": "smsc"
        });
        let key = ResourceKey::new(ResourceKind::Operator, name);
        let config_change = ConfigChange::Put { key, given };
        let changed = configuration.change(config_change, Condition::default(), false, "a test");
        changed.await.expect("changed");
        let watched = tokio::task::spawn_blocking(|| watching.join());
        let is_there = watched.await.expect("no panic").expect("no panic");
        assert!(
            is_there,
            "operator {number} is in the plan and has no queue"
        );
    }
}

#[actix::test]
async fn a_bind_that_waits_ends_with_its_slot() {
    let shelf: Arc<Shelf> = Arc::default();
    // Nobody listens there, and the next attempt is far.
    let node = test_support::node_with(1, Some(shelf), |config| {
        config.operator[0].reconnect = vec![Duration::from_secs(3600)];
    });
    let node = node.await;
    let context = Arc::clone(&node.context);
    let lease = &node.context.local_lease;
    let slot = [LeasedResource::Bind {
        operator: node.operator,
        slot: 0,
    }];
    let hold = || {
        lease.renew(tokio::time::Instant::now() + Duration::from_secs(60));
        assert!(lease.gain(lease.generation(), &slot, || {}));
    };
    hold();
    let escalate: Escalate = Arc::new(|name: &str| panic!("{name} escalated"));
    let core = actix::Arbiter::current();
    let (ingest, _) = supervise::slot(1);
    let (addr, slot) = supervise::slot::<Supervisor>(16);
    let (lanes, handle) = (vec![(core.clone(), ingest)], core.clone());
    let for_slots = Arc::clone(&escalate);
    slot.start(&core, Health::new("supervisor"), escalate, move || {
        Supervisor::new(
            context,
            handle,
            lanes,
            for_slots,
            Arc::default(),
            HashMap::new(),
        )
    });
    let binds = || node.context.binds.all();
    let waits = || {
        let binds = binds();
        binds.len() == 1 && binds[0].snapshot.get().state() == BindState::Waiting
    };
    test_support::until("a bind that waits", waits).await;
    let first = binds()[0].session;
    lease.lose_everything();
    addr.send(SlotsChanged {}).await.expect("it lives");
    test_support::until("its end", || binds().is_empty()).await;
    hold();
    addr.send(SlotsChanged {}).await.expect("it lives");
    test_support::until("another attempt", waits).await;
    assert_ne!(binds()[0].session, first);
}

#[test]
fn only_what_the_bind_was_made_with_makes_it_anew() {
    let before = OperatorConfig {
        id: "up".to_owned(),
        rate: Some(50.0),
        ..OperatorConfig::default()
    };
    let with = |change: fn(&mut OperatorConfig)| {
        let mut after = before.clone();
        change(&mut after);
        needs_rebind(&before, &after)
    };
    assert!(!with(|_| {}));
    assert!(!with(|after| after.rate = Some(1.0)));
    assert!(!with(|after| after.rate = None));
    assert!(!with(|after| after.binds = 5));
    assert!(with(|after| after.password = "other".into()));
    assert!(with(|after| after.address = "elsewhere:1".to_owned()));
    assert!(with(|after| after.system_id = "other".to_owned()));
    assert!(with(|after| after.window = 3));
}
