//! Prepaid balances and daily quotas: no message is accepted without credit, and no credit is lost,
//! whatever is killed; top-ups, and the balance in the admin API.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use crate::harness::{self, Admin, Cluster, Peer, Smsc, submit, until};
use serde_json::{Value, json};
use smsc::smpp::{Body, CommandId, CommandStatus};

const WINDOW: usize = 20;

/// Adds to the balance of `test`.
fn top_up(smsc: &Smsc, add: i64, reference: &str) -> (u16, Value) {
    let order = json!({ "add": add, "reference": reference });
    let admin = smsc.admin();
    admin.call("POST", "/v1/accounts/test/balance", Some(&order))
}

fn balance(smsc: &Smsc) -> Value {
    smsc.admin().get("/v1/accounts/test/balance")
}

fn credits(smsc: &Smsc) -> i64 {
    balance(smsc)["credits"].as_i64().unwrap()
}

/// Submits one message of `length` characters to a number with this prefix.
fn status(esme: &mut Peer, prefix: &str, length: usize) -> CommandStatus {
    let mut tlvs = smsc::smpp::Tlvs::default();
    tlvs.push(smsc::smpp::tag::MESSAGE_PAYLOAD, &vec![b'x'; length]);
    let sequence = esme.request(Body::SubmitSm(smsc::smpp::SubmitSm {
        tlvs,
        registered_delivery: 0,
        ..submit(&format!("{prefix}7700900123"), "")
    }));
    esme.answer_to(sequence).status
}

/// Binds that submit windows until they are stopped or the connection ends.
struct Load {
    counts: Arc<Counts>,
    binds: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Counts {
    stop: AtomicBool,
    accepted: AtomicUsize,
    refused: AtomicUsize,
}

// === impl Load ===

impl Load {
    /// `binds` binds of `test` at each address.
    fn start(addresses: &[SocketAddr], binds: usize) -> Self {
        let counts = Arc::new(Counts::default());
        let bind = |address: &SocketAddr| {
            let esme = Peer::bind(*address, "test", "test");
            let counts = Arc::clone(&counts);
            std::thread::spawn(move || counts.keep_submitting(esme))
        };
        let every = addresses.iter().flat_map(|one| vec![one; binds]);
        Self {
            binds: every.map(bind).collect(),
            counts,
        }
    }

    fn accepted(&self) -> i64 {
        self.counts.accepted.load(Ordering::Relaxed) as i64
    }

    fn refused(&self) -> usize {
        self.counts.refused.load(Ordering::Relaxed)
    }

    /// Stops, and returns how many messages were acknowledged.
    fn stop(self) -> i64 {
        self.counts.stop.store(true, Ordering::Relaxed);
        self.binds.into_iter().for_each(|bind| bind.join().unwrap());
        self.counts.accepted.load(Ordering::Relaxed) as i64
    }
}

impl Counts {
    fn keep_submitting(&self, mut esme: Peer) {
        while !self.stop.load(Ordering::Relaxed) {
            let mut pdus = Vec::new();
            for number in 0..WINDOW {
                let mut message = submit(&format!("4477009{number:05}"), "hello");
                message.registered_delivery = 0;
                pdus.extend(harness::pdu(number as u32 + 1, Body::SubmitSm(message)));
            }
            if esme.try_send(&pdus).is_err() {
                return;
            }
            for _ in 0..WINDOW {
                let answer = esme.try_expect(|pdu| pdu.command_id() == CommandId::SUBMIT_SM_RESP);
                let Ok(answer) = answer else { return };
                let count = if answer.status.is_ok() {
                    &self.accepted
                } else {
                    &self.refused
                };
                if !answer.status.is_ok() {
                    assert_eq!(answer.status, CommandStatus::ESME_RSUBMITFAIL);
                }
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

#[test]
fn a_balance_is_spent_to_its_end_and_a_kill_loses_nothing() {
    // Far more than is spent before the kill.
    const CREDITS: i64 = 30_001;
    const PRICE: i64 = 3;
    let mut smsc = Smsc::new()
        .account_with("test", "test", "prepaid = true\nmax_binds = 20")
        .route("", "test:delivered")
        .toml("[policy.prices]\n44 = 3")
        .start();
    let stored = |smsc: &Smsc| -> i64 {
        let store = rusqlite::Connection::open(smsc.data_dir().join("smsc.db")).unwrap();
        let count = "SELECT count(*) FROM msg";
        store.query_row(count, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(top_up(&smsc, CREDITS, "first").0, 200);
    let load = Load::start(&[smsc.smpp()], 4);
    until("a part to be spent", || {
        (load.accepted() > 500).then_some(())
    });
    smsc.kill();
    let known = load.stop();
    smsc.start_again();
    assert!(known * PRICE < CREDITS, "killed too late");
    assert!(stored(&smsc) >= known);
    assert_eq!(stored(&smsc) * PRICE + credits(&smsc), CREDITS);

    let before = stored(&smsc);
    let load = Load::start(&[smsc.smpp()], 4);
    until("nothing to be left", || {
        (load.refused() > 200).then_some(())
    });
    let accepted = load.stop();
    assert_eq!(credits(&smsc), CREDITS % PRICE);
    assert_eq!(stored(&smsc), CREDITS / PRICE);
    assert_eq!(before + accepted, stored(&smsc));

    // The remaining credit does not suffice until a top-up, which counts at once.
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    assert_eq!(status(&mut esme, "44", 1), CommandStatus::ESME_RSUBMITFAIL);
    assert_eq!(top_up(&smsc, 2, "second").0, 200);
    assert_eq!(status(&mut esme, "44", 1), CommandStatus::ESME_ROK);
    assert_eq!(status(&mut esme, "44", 1), CommandStatus::ESME_RSUBMITFAIL);
    // The end of the SMSC would wait for a bind that does not answer.
    drop(esme);
    smsc.terminate();
    smsc.assert_no_panic();
}

#[test]
fn prices_go_by_segment_and_prefix_and_quotas_by_day() {
    let mut smsc = Smsc::new()
        .account_with(
            "test",
            "test",
            "prepaid = true\nquota_per_day = 9\nprices = { 4477 = 5 }",
        )
        .account("free", "free")
        .route("44", "test:delivered")
        .route("33", "test:delivered")
        .toml("[policy.prices]\ndefault = 2\n44 = 4\n4477 = 7")
        .start();
    assert_eq!(top_up(&smsc, 100, "a").0, 200);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    assert_eq!(status(&mut esme, "44", 10), CommandStatus::ESME_ROK);
    assert_eq!(credits(&smsc), 95, "the account's own price");
    assert_eq!(status(&mut esme, "33", 400), CommandStatus::ESME_ROK);
    assert_eq!(credits(&smsc), 89, "three segments");
    // Refused messages are not charged.
    assert_eq!(status(&mut esme, "1", 1), CommandStatus::ESME_RINVDSTADR);
    assert_eq!(
        status(&mut esme, "33", 1_000),
        CommandStatus::ESME_RTHROTTLED
    );
    let shown = balance(&smsc);
    assert_eq!(shown["credits"], 89);
    assert_eq!(
        (&shown["quota_per_day"], &shown["quota_used_today"]),
        (&json!(9), &json!(4))
    );
    assert!(shown["resets_at"].as_str().unwrap().contains("T00:00:00"));
    assert_eq!(shown["reserved"], 0);
    // Five more, and another account is not affected.
    assert_eq!(status(&mut esme, "33", 612), CommandStatus::ESME_ROK);
    assert_eq!(balance(&smsc)["quota_used_today"], 8);
    assert_eq!(status(&mut esme, "33", 1), CommandStatus::ESME_ROK);
    assert_eq!(status(&mut esme, "33", 1), CommandStatus::ESME_RTHROTTLED);
    let mut free = Peer::bind(smsc.smpp(), "free", "free");
    assert_eq!(status(&mut free, "33", 1), CommandStatus::ESME_ROK);
    let admin = smsc.admin();
    for (metric, value) in [
        ("smsc_account_credits{account=\"test\"}", 79.0),
        ("smsc_account_quota{account=\"test\"}", 9.0),
        ("smsc_account_quota_used{account=\"test\"}", 9.0),
        ("smsc_submissions_not_covered_total{reason=\"quota\"}", 2.0),
    ] {
        until(metric, || {
            (admin.metric(metric) == Some(value)).then_some(())
        });
    }

    // The quota is one per day, even after a restart; the next day has a new one.
    smsc.kill();
    smsc.start_again();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    assert_eq!(status(&mut esme, "33", 1), CommandStatus::ESME_RTHROTTLED);
    drop(esme);
    smsc.terminate();
    let store = rusqlite::Connection::open(smsc.data_dir().join("smsc.db")).unwrap();
    let a_day_passes = "UPDATE purse SET day = day - 1 WHERE day > 0";
    assert_eq!(store.execute(a_day_passes, []).unwrap(), 1);
    drop(store);
    smsc.start_again();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    assert_eq!(status(&mut esme, "33", 1), CommandStatus::ESME_ROK);
    assert_eq!(credits(&smsc), 77);

    // A quota, a price and the statuses are changed while it runs.
    let admin = smsc.admin();
    let changed = json!({ "prepaid": true, "quota_per_day": 2, "prices": { "33": 70 } });
    admin.put("/v1/accounts/test", &changed);
    assert_eq!(status(&mut esme, "33", 1), CommandStatus::ESME_ROK);
    assert_eq!(credits(&smsc), 7);
    assert_eq!(status(&mut esme, "33", 1), CommandStatus::ESME_RTHROTTLED);
    admin.put(
        "/v1/accounts/test",
        &json!({ "prepaid": true, "prices": { "33": 70 } }),
    );
    let config = smsc
        .config()
        .replacen("[smpp]", "[smpp]\nbalance_status = \"0x401\"", 1);
    smsc.set_config(&config);
    smsc.reload();
    until("the new status", || {
        (status(&mut esme, "33", 1) == CommandStatus(0x401)).then_some(())
    });
    assert_eq!(credits(&smsc), 7);
}

#[test]
fn the_admin_api_adds_once_and_never_below_zero() {
    let smsc = Smsc::new()
        .account_with("test", "test", "prepaid = true")
        .account("other", "other")
        .route("", "test:delivered")
        .start();
    let admin = smsc.admin();
    let (code, added) = top_up(&smsc, 1_000, "invoice 7");
    assert_eq!((code, &added["repeated"]), (200, &json!(false)), "{added}");
    assert_eq!(added["balance"]["credits"], 1_000);
    let (code, again) = top_up(&smsc, 1_000, "invoice 7");
    assert_eq!((code, &again["repeated"]), (200, &json!(true)), "{again}");
    assert_eq!(again["top_up"], added["top_up"]);
    assert_eq!(credits(&smsc), 1_000);
    let (code, problem) = top_up(&smsc, 999, "invoice 7");
    assert_eq!(
        (code, &problem["type"]),
        (409, &json!("urn:smsc:problem:conflict")),
        "{problem}"
    );
    // References are per account.
    let order = json!({ "add": 5, "reference": "invoice 7" });
    let other = "/v1/accounts/other/balance";
    assert_eq!(
        admin.call("POST", other, Some(&order)).1["balance"]["credits"],
        5
    );
    assert_eq!(admin.get(other)["prepaid"], false);

    let (code, problem) = top_up(&smsc, -1_001, "slip");
    assert_eq!(code, 409, "{problem}");
    assert!(
        problem["detail"].as_str().unwrap().contains("below zero"),
        "{problem}"
    );
    assert_eq!(top_up(&smsc, -1_000, "slip").0, 200);
    assert_eq!(top_up(&smsc, -1_000, "slip").1["repeated"], true);
    assert_eq!(credits(&smsc), 0);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    assert_eq!(status(&mut esme, "44", 1), CommandStatus::ESME_RSUBMITFAIL);

    wrong_top_ups_are_refused(&admin);
    assert_eq!(admin.text("/v1/accounts/nobody/balance").unwrap().0, 404);
    let operate = admin.with_role("operate", "clerk");
    let order = json!({ "add": 5 });
    assert_eq!(
        operate
            .call("POST", "/v1/accounts/test/balance", Some(&order))
            .0,
        403
    );
    assert_eq!(operate.get("/v1/accounts/test/balance")["credits"], 0);

    for _ in 0..2 {
        assert_eq!(
            admin
                .call("POST", "/v1/accounts/test/balance", Some(&order))
                .0,
            200
        );
    }
    let list = "/v1/accounts/test/balance/top-ups?limit=3";
    let page = admin.get(list);
    let before = page["next_before"].as_str().unwrap();
    let rest = admin.get(&format!("{list}&before={before}"));
    let pages = [&page, &rest].map(|page| page["top_ups"].as_array().unwrap().clone());
    let all: Vec<(i64, Value)> = pages
        .concat()
        .iter()
        .map(|one| (one["add"].as_i64().unwrap(), one["reference"].clone()))
        .collect();
    let invoice = json!("invoice 7");
    assert_eq!(
        all,
        [
            (5, Value::Null),
            (5, Value::Null),
            (-1_000, json!("slip")),
            (1_000, invoice)
        ]
    );
    assert_eq!(rest["next_before"], Value::Null);
    let audit = admin.get("/v1/audit?path=/v1/accounts/test/balance&limit=100");
    let noted = audit["entries"].as_array().unwrap().iter();
    let refused = noted.filter(|entry| entry["token"] == "clerk" && entry["status"] == 403);
    assert_eq!(refused.count(), 1, "{audit}");
    commands_add_and_show(&smsc);
}

fn wrong_top_ups_are_refused(admin: &Admin) {
    for (path, order, expected) in [
        ("/v1/accounts/test/balance", json!({ "add": 0 }), 400),
        ("/v1/accounts/test/balance", json!({ "add": "5" }), 400),
        (
            "/v1/accounts/test/balance",
            json!({ "add": 5, "ref": "x" }),
            400,
        ),
        (
            "/v1/accounts/test/balance",
            json!({ "add": 5, "reference": "" }),
            400,
        ),
        ("/v1/accounts/nobody/balance", json!({ "add": 5 }), 404),
    ] {
        let (code, problem) = admin.call("POST", path, Some(&order));
        assert_eq!(code, expected, "{order} {problem}");
        assert!(
            problem["type"]
                .as_str()
                .unwrap()
                .starts_with("urn:smsc:problem:")
        );
    }
}

/// Ten credits are there before.
fn commands_add_and_show(smsc: &Smsc) {
    let added = smsc.command(&["balance", "add", "test", "25", "--reference", "x"]);
    let mut lines = added.stdout.lines();
    assert!(
        lines.any(|line| line.starts_with("credits left ") && line.ends_with(" 35")),
        "{}{}",
        added.stdout,
        added.stderr
    );
    let shown = smsc.command(&["balance", "show", "test"]);
    assert_eq!(shown.stdout, added.stdout);
    let listed = smsc.command(&["balance", "top-ups", "test"]);
    assert!(
        listed.stdout.contains("invoice 7"),
        "{}{}",
        listed.stdout,
        listed.stderr
    );
}

#[test]
fn three_nodes_spend_one_balance_and_one_quota() {
    const CREDITS: i64 = 6_000;
    const QUOTA: i64 = 500;
    let mut cluster = Cluster::of(3)
        .short_lease()
        .each(|smsc| {
            smsc.account_with("test", "test", "prepaid = true\nmax_binds = 30")
                .account_with("daily", "daily", &format!("quota_per_day = {QUOTA}"))
                .route("", "test:delivered")
        })
        .start();
    let stored = |cluster: &Cluster| -> i64 {
        let rows = "SELECT count(*) FROM msg WHERE sender =
            (SELECT number FROM names WHERE name = 'account:test')";
        cluster.postgres.rows(rows)[0].get(0)
    };
    assert_eq!(top_up(&cluster.nodes[0], CREDITS / 2, "first").0, 200);
    let addresses: Vec<SocketAddr> = cluster.nodes.iter().map(|node| node.smpp()).collect();
    let load = Load::start(&addresses, 2);
    until("a part to be spent", || {
        (load.accepted() > 500).then_some(())
    });
    // Its block is lost until the other nodes take it over; a top-up comes meanwhile.
    cluster.nodes[2].kill();
    assert_eq!(top_up(&cluster.nodes[1], CREDITS / 2, "second").0, 200);
    until("everything to be spent", || {
        (stored(&cluster) >= CREDITS).then_some(())
    });
    assert!(load.stop() <= CREDITS);
    assert_eq!(stored(&cluster), CREDITS, "and no more");
    let shown = balance(&cluster.nodes[0]);
    assert_eq!(
        (&shown["credits"], &shown["reserved"]),
        (&json!(0), &json!(0))
    );

    // The last credits can be spent on any node, whichever held them before.
    let mut peers: Vec<Peer> = cluster.nodes[..2]
        .iter()
        .map(|node| Peer::bind(node.smpp(), "test", "test"))
        .collect();
    assert_eq!(top_up(&cluster.nodes[0], 8, "third").0, 200);
    for (node, length) in [(0, 1), (1, 400), (0, 400), (1, 1)] {
        until("cover on this node", || {
            (status(&mut peers[node], "44", length) == CommandStatus::ESME_ROK).then_some(())
        });
    }
    assert_eq!(
        status(&mut peers[0], "44", 1),
        CommandStatus::ESME_RSUBMITFAIL
    );
    assert_eq!(stored(&cluster), CREDITS + 4);

    // A correction also takes what idle nodes hold, once they have given it back.
    assert_eq!(top_up(&cluster.nodes[0], 100, "fourth").0, 200);
    until("a block", || {
        (status(&mut peers[1], "44", 1) == CommandStatus::ESME_ROK).then_some(())
    });
    until("all to be taken back", || {
        (top_up(&cluster.nodes[0], -99, "fifth").0 == 200).then_some(())
    });
    assert_eq!(credits(&cluster.nodes[1]), 0);

    drop(peers);
    let mut daily: HashMap<CommandStatus, usize> = HashMap::new();
    let mut peers: Vec<Peer> = cluster.nodes[..2]
        .iter()
        .map(|node| Peer::bind(node.smpp(), "daily", "daily"))
        .collect();
    until("the quota to be used up", || {
        for peer in &mut peers {
            for _ in 0..20 {
                *daily.entry(status(peer, "44", 1)).or_default() += 1;
            }
        }
        (daily.get(&CommandStatus::ESME_ROK) == Some(&(QUOTA as usize))).then_some(())
    });
    for peer in &mut peers {
        assert_eq!(status(peer, "44", 1), CommandStatus::ESME_RTHROTTLED);
    }
    let admin = cluster.nodes[0].admin();
    let used = admin.get("/v1/accounts/daily/balance");
    assert_eq!(used["quota_used_today"], QUOTA);

    // A node that leaves gives back what it holds.
    assert_eq!(top_up(&cluster.nodes[0], 1_000, "sixth").0, 200);
    let mut esme = Peer::bind(cluster.nodes[1].smpp(), "test", "test");
    until("a block", || {
        (status(&mut esme, "44", 1) == CommandStatus::ESME_ROK).then_some(())
    });
    drop((esme, peers));
    cluster.nodes[1].terminate();
    until("the whole rest to be free", || {
        let shown = balance(&cluster.nodes[0]);
        (shown["credits"] == 999 && shown["reserved"] == 0).then_some(())
    });
    cluster.nodes[0].assert_no_panic();
}
