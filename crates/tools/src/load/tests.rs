//! Load against the simulator over loopback, one run per kind of operator: the ledger must match
//! the operator's behaviour.

use std::future::pending;
use std::time::Duration;

use super::{LoadBindType, LoadError, LoadOptions, LoadSummary, run};
use crate::simulator::{
    CounterSnapshot, Delay, Profile, ReceiptBehaviour, Simulator, SimulatorOptions, TcpBehaviour,
};

const COUNT: u64 = 2_000;

fn operator() -> SimulatorOptions {
    SimulatorOptions {
        listen: "127.0.0.1:0".to_owned(),
        ..SimulatorOptions::default()
    }
}

fn load() -> LoadOptions {
    LoadOptions {
        binds: 2,
        window: 50,
        count: Some(COUNT),
        settle: Duration::from_millis(400),
        ..LoadOptions::default()
    }
}

async fn outcome(
    operator: SimulatorOptions,
    load: LoadOptions,
) -> (Result<LoadSummary, LoadError>, CounterSnapshot) {
    let simulator = Simulator::bind(operator).await.unwrap();
    let load = LoadOptions {
        to: simulator.local_addr().to_string(),
        ..load
    };
    let counters = simulator.counters();
    let serving = tokio::spawn(simulator.run());
    let summary = run(load, pending()).await;
    serving.abort();
    (summary, counters.snapshot())
}

async fn measured(operator: SimulatorOptions, load: LoadOptions) -> (LoadSummary, CounterSnapshot) {
    let (summary, counters) = outcome(operator, load).await;
    (summary.unwrap(), counters)
}

#[tokio::test]
async fn a_healthy_operator_reports_every_message_once() {
    for form in ["decimal", "hex", "hex-upper-zeros"] {
        let operator = SimulatorOptions {
            message_id_form: form.parse().unwrap(),
            receipt_tlvs: form != "hex",
            ..operator()
        };
        let (summary, counters) = measured(operator, load()).await;
        assert_eq!((summary.sent, summary.accepted), (COUNT, COUNT));
        assert_eq!(summary.receipts["DELIVERED"], COUNT, "{form}");
        assert_eq!(
            (summary.missing, summary.duplicated, summary.unknown),
            (0, 0, 0)
        );
        assert_eq!(counters.receipts_acknowledged, COUNT);
        assert!(summary.receipt_latency.p50 >= summary.answer_latency.p50);
    }
}

#[tokio::test]
async fn ids_written_differently_in_receipts_do_not_match() {
    let operator = SimulatorOptions {
        message_id_form: "hex-in-receipt-decimal".parse().unwrap(),
        ..operator()
    };
    let (summary, _) = measured(operator, load()).await;
    assert_eq!((summary.missing, summary.unknown), (COUNT, COUNT));
}

#[tokio::test]
async fn pairs_of_binds_on_several_threads_keep_the_same_books() {
    let load = LoadOptions {
        bind_type: LoadBindType::Pair,
        threads: 2,
        ..load()
    };
    let operator = SimulatorOptions {
        transceiver: false,
        ..operator()
    };
    let (summary, counters) = measured(operator, load).await;
    assert_eq!((summary.accepted, summary.missing), (COUNT, 0));
    assert_eq!(counters.binds, 4);
}

#[tokio::test]
async fn a_slow_operator_is_waited_for() {
    let operator = SimulatorOptions {
        latency: Delay::fixed(Duration::from_millis(20)),
        receipt_delay: "10ms..50ms".parse().unwrap(),
        ..operator()
    };
    let (summary, _) = measured(operator, load()).await;
    assert_eq!((summary.accepted, summary.missing), (COUNT, 0));
    assert!(summary.answer_latency.p50 >= 20.0);
    assert!(summary.receipt_latency.p50 >= 30.0);
}

#[tokio::test]
async fn throttled_rejected_and_silent_shares_are_counted_apart() {
    let operator = SimulatorOptions {
        throttle_percent: 20.0,
        reject_percent: 10.0,
        silent_percent: 1.0,
        ..operator()
    };
    let (summary, counters) = measured(operator, load()).await;
    assert_eq!(summary.throttled, counters.throttled);
    assert_eq!(summary.refused["ESME_RSUBMITFAIL"], counters.rejected);
    assert_eq!(summary.unanswered, counters.unanswered);
    // Each connection counts its own share.
    assert!(summary.unanswered.abs_diff(COUNT / 100) <= 2);
    let refused: u64 = summary.refused.values().sum();
    assert_eq!(summary.accepted + refused + summary.unanswered, COUNT);
    assert_eq!((summary.accepted, summary.missing), (counters.accepted, 0));
}

#[tokio::test]
async fn a_rate_limit_throttles_what_exceeds_it() {
    let operator = SimulatorOptions {
        rate: Some(100.0),
        ..operator()
    }
    .profile(Profile::Throttling);
    let (summary, _) = measured(operator, load()).await;
    assert!(summary.accepted >= 10 && summary.accepted < COUNT);
    assert_eq!(summary.throttled, COUNT - summary.accepted);
}

#[tokio::test]
async fn failures_duplicates_and_early_receipts_are_told() {
    let failing = SimulatorOptions {
        receipts: ReceiptBehaviour::Mixed,
        fail_percent: 25.0,
        duplicate_receipts: true,
        ..operator()
    };
    let (summary, _) = measured(failing, load()).await;
    assert_eq!(summary.receipts["DELIVERED"], COUNT * 3 / 4);
    assert_eq!(summary.receipts["EXPIRED"], COUNT / 20);
    assert_eq!((summary.duplicated, summary.missing), (COUNT, 0));

    let early = SimulatorOptions {
        early_receipts: true,
        ..operator()
    };
    let (summary, _) = measured(early, load()).await;
    assert_eq!((summary.receipts_early, summary.missing), (COUNT, 0));

    let none = SimulatorOptions {
        receipts: ReceiptBehaviour::None,
        ..operator()
    };
    let (summary, _) = measured(none, load()).await;
    assert_eq!(summary.missing, COUNT);
}

#[tokio::test]
async fn cut_connections_lose_answers_but_no_books() {
    let operator = || SimulatorOptions {
        cut_after: Some(300),
        ..operator()
    };
    let (summary, counters) = measured(operator(), load()).await;
    assert!(summary.disconnects >= 2 && counters.cuts >= 2);
    assert_eq!((summary.accepted, summary.unanswered), (COUNT, 0));
    assert!(summary.resubmitted > 0);
    assert_eq!((summary.missing, summary.unknown), (0, 0));
    assert_eq!(summary.for_lost_answers, counters.accepted - COUNT);

    let giving_up = LoadOptions {
        resubmit: false,
        ..load()
    };
    let (summary, _) = measured(operator(), giving_up).await;
    assert_eq!(summary.accepted + summary.unanswered, COUNT);
    assert!(summary.unanswered > 0 && summary.resubmitted == 0);
}

#[tokio::test]
async fn a_rate_is_kept_and_mo_is_no_receipt() {
    let operator = SimulatorOptions {
        mo: Some(crate::simulator::MoOptions {
            per_second: 100.0,
            from: "447700900999".to_owned(),
            to: "12345".to_owned(),
        }),
        ..operator()
    };
    let load = LoadOptions {
        count: None,
        duration: Some(Duration::from_millis(500)),
        rate: Some(1000.0),
        ..load()
    };
    let (summary, _) = measured(operator, load).await;
    assert_eq!((summary.sent + summary.behind, summary.missing), (500, 0));
    assert!(summary.seconds >= 0.49 - summary.behind as f64 / 1000.0);
    assert!(summary.mobile_originated > 10);
}

#[tokio::test]
async fn binds_that_fail_say_what_to_do() {
    let message = |result: Result<LoadSummary, LoadError>| result.unwrap_err().to_string();
    for (door, hint) in [
        (TcpBehaviour::Closing, "SMPP port"),
        (TcpBehaviour::Shut, "smsc serve"),
    ] {
        let operator = SimulatorOptions { door, ..operator() };
        let text = message(outcome(operator, load()).await.0);
        assert!(text.contains(hint), "{door:?}: {text}");
    }
    let locked = SimulatorOptions {
        system_id: Some("test".to_owned()),
        password: Some("another".to_owned()),
        ..operator()
    };
    let text = message(outcome(locked, load()).await.0);
    assert!(
        text.contains("ESME_RINVPASWD") && text.contains("--password"),
        "{text}"
    );
    let trx = SimulatorOptions {
        transceiver: false,
        ..operator()
    };
    let text = message(outcome(trx, load()).await.0);
    assert!(text.contains("ESME_RINVCMDID"), "{text}");
}

#[tokio::test]
async fn accounts_share_the_binds_by_their_numbers() {
    let first = || SimulatorOptions {
        system_id: Some("test1".to_owned()),
        password: Some("test".to_owned()),
        ..operator()
    };
    let accounts = |accounts| LoadOptions {
        accounts: Some(accounts),
        ..load()
    };
    let (summary, _) = measured(first(), accounts(1)).await;
    assert_eq!(summary.accepted, COUNT);
    // The second bind is another account's.
    let refused = outcome(first(), accounts(2)).await.0.unwrap_err();
    assert!(refused.to_string().contains("`test2`"), "{refused}");
}
