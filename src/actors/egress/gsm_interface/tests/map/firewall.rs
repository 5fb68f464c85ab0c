//! The firewall in front of the interface: what it blocks and lets in, what people see of it, and that its settings change
//! while the gateways stay connected.

use super::*;
use crate::actors::context::plan::Plan;
use crate::config::{MapFirewall, MapFirewallAction, MapFirewallMode};
use crate::telemetry::metrics::FirewallLabel;

/// Our network has titles and numbers with 49160…, and ours roam in Austria only: what [`MSC`] sends for them is spoofed.
fn firewall(mode: MapFirewallMode) -> MapFirewall {
    let prefixes = |prefix: &str| vec![prefix.to_owned()];
    MapFirewall {
        mode,
        own_titles: prefixes("49160"),
        own_numbers: prefixes("49160"),
        visited_titles: prefixes("43"),
        ..MapFirewall::default()
    }
}

/// The error of an answer; `None` of one that is none.
fn error_of(answer: &Component) -> Option<u8> {
    match answer {
        Component::Error { code, .. } => Some(*code),
        _ => None,
    }
}

fn alert(number: &str) -> Invoke {
    let argument = AlertServiceCentreArg {
        msisdn: TpduAddress::international(number),
        service_centre: TpduAddress::international(SMSC),
    };
    Invoke {
        id: 1,
        operation: MapOperationCode::ALERT_SERVICE_CENTRE.0,
        parameter: argument.encode().expect("it can be written"),
        timeout: HOUR,
    }
}

impl Fixture {
    /// Changes the firewall of the network, as an administrator does.
    async fn guard(&self, firewall: MapFirewall) {
        let mut config = self.node.context.config().as_ref().clone();
        let map = config.gsm[0].map.as_mut().expect("it speaks MAP");
        map.firewall = firewall;
        let store = Arc::clone(&self.node.context.store);
        let built =
            tokio::task::spawn_blocking(move || Plan::build(Arc::new(config), store.as_ref()));
        let plan = built.await.expect("no panic").expect("a plan");
        self.node.context.set_plan(Arc::new(plan));
    }

    fn counted(&self, rule: &'static str, action: &'static str) -> u64 {
        let gsm = "home".to_owned();
        let label = FirewallLabel { gsm, rule, action };
        let counter = self.node.context.metrics.gsm_firewall.get(&label);
        counter.map_or(0, |counter| counter.get())
    }

    /// Waits for the newest finding that people see.
    async fn newest(&self, rule: &str, action: &str, count: u64) {
        until(&format!("{rule} {action} {count}"), || {
            let findings = self.interface().findings;
            let newest = findings.first();
            newest.is_some_and(|one| (&*one.rule, &*one.action, one.count) == (rule, action, count))
        })
        .await;
    }
}

#[actix::test]
async fn its_settings_count_at_once_and_the_gateways_stay_connected() {
    let (mut stp, fixture) = through_one(|_| {}).await;
    stp.expect_nothing().await;
    // The network has no account: what is let in gets this.
    let let_in = Some(MapUserError::SM_DELIVERY_FAILURE);
    assert_eq!(error_of(&stp.submit(NUMBER_A).await), let_in);
    assert_eq!(fixture.counted("none", "pass"), 0);
    fixture.guard(firewall(MapFirewallMode::Dry)).await;
    stp.expect_nothing().await;
    assert_eq!(error_of(&stp.submit(NUMBER_A).await), let_in);
    fixture.newest("spoofed", "dry", 1).await;
    fixture.guard(firewall(MapFirewallMode::On)).await;
    stp.expect_nothing().await;
    let blocked = Some(MapUserError::FACILITY_NOT_SUPPORTED);
    for count in 1..=2 {
        assert_eq!(error_of(&stp.submit(NUMBER_A).await), blocked);
        fixture.newest("spoofed", "block", count).await;
    }
    let shown = &fixture.interface().findings[0];
    assert_eq!((&*shown.calling, shown.error), (MSC, 21));
    assert_eq!(shown.subscriber, "491******01", "it is masked");
    assert_eq!(fixture.counted("spoofed", "block"), 2);
    assert_eq!(fixture.counted("spoofed", "dry"), 1);
    // Where ours roam they may send; and what is no forward is let in.
    let mut roaming = firewall(MapFirewallMode::On);
    roaming.visited_titles.push(MSC.to_owned());
    fixture.guard(roaming).await;
    stp.expect_nothing().await;
    assert_eq!(error_of(&stp.submit(NUMBER_A).await), let_in);
    stp.alert(NUMBER_A).await;
    until("both to be counted", || {
        fixture.counted("none", "pass") == 2
    })
    .await;
    assert_eq!(fixture.interface().state(), BindState::Bound);
    assert_eq!(fixture.interface().reconnect_attempts, 0);
}

#[actix::test]
async fn a_title_that_floods_is_limited_and_nobody_else_is() {
    let mut limited = firewall(MapFirewallMode::On);
    limited.title_rate = Some(0.001);
    limited.title_burst = Some(3);
    let (mut stp, fixture) = through_one(|map| map.firewall = limited).await;
    stp.expect_nothing().await;
    let mut answers = Vec::new();
    for _ in 0..10 {
        let from = address(HLR, 6);
        let answer = stp.ask(SHORT_MSG_ALERT, 2, from, alert(NUMBER_A)).await;
        answers.push(error_of(&answer));
    }
    assert_eq!(answers[..3], [None; 3]);
    assert_eq!(answers[3..], [Some(MapUserError::SYSTEM_FAILURE); 7]);
    fixture.newest("title_rate", "block", 7).await;
    let from = address("49161112", 6);
    let answer = stp.ask(SHORT_MSG_ALERT, 2, from, alert(NUMBER_A)).await;
    assert_eq!(error_of(&answer), None);
    // Messages to handsets go on.
    fixture.accept_to(&[NUMBER_B]).await;
    let asked = stp.delivery().await;
    stp.take(&asked).await;
    fixture.empty().await;
}

#[actix::test]
async fn what_is_only_counted_is_let_in_and_not_listed() {
    let mut counting = firewall(MapFirewallMode::On);
    counting.rules.spoofed = MapFirewallAction::Count;
    let (mut stp, fixture) = through_one(|map| map.firewall = counting).await;
    stp.expect_nothing().await;
    let let_in = Some(MapUserError::SM_DELIVERY_FAILURE);
    assert_eq!(error_of(&stp.submit(NUMBER_A).await), let_in);
    until("it to be counted", || {
        fixture.counted("spoofed", "count") == 1
    })
    .await;
    assert!(fixture.interface().findings.is_empty());
}
