//! A URL of callbacks that fails, in whatever way, holds up itself alone: other ports and other URLs of its host, and
//! other callbacks to it that it would take, go on, and nothing is given up that was not tried itself.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};
use smsc::smpp::{Body, CommandStatus, SubmitSm};

use crate::harness::hooks::{Hook, HookReply, Hooks};
use crate::harness::{
    Authority, Scene, Smsc, SmscBuilder, database, free_port, migrate, until, within,
};

const QUIET: Duration = Duration::from_millis(700);
/// In which thousands of callbacks have come; they take a fraction of it.
const LIMIT: Duration = Duration::from_secs(300);
/// What a receiver takes for an answer.
const WORK: Duration = Duration::from_millis(10);

fn keys(more: &str) -> String {
    format!(
        "callback_secrets = \"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"\n\
         callback_hosts = [\"127.0.0.1\", \"localhost\"]\n\
         callback_allow_private = [\"127.0.0.1\", \"localhost\"]\n{more}"
    )
}

fn allowing(more: &str) -> SmscBuilder {
    Smsc::new()
        .with_api()
        .account_with("test", "test", &keys(more))
        .route("", "test:delivered")
}

/// So many messages of an account, whose receipts go to a URL.
fn send(smsc: &Smsc, account: &str, url: &str, count: usize) {
    let numbers: Vec<String> = (0..count).map(|at| format!("4477009{at:05}")).collect();
    for numbers in numbers.chunks(50) {
        let order = json!({ "to": numbers, "from": "ACME", "text": "hello", "callback": url });
        let key = smsc.api_of(account, "send");
        let (status, said) = key.call("POST", "/v1/messages", Some(&order));
        assert_eq!(status, 202, "{said}");
    }
}

/// Suspends or resumes the callbacks of an account.
fn order(smsc: &Smsc, account: &str, verb: &str) {
    let path = format!("/v1/queues/callback-to:127.0.0.1@{account}/{verb}");
    assert_eq!(smsc.admin().post(&path).0, 200);
}

fn dead_url() -> String {
    format!("http://127.0.0.1:{}/dead", free_port())
}

fn count_of(smsc: &Smsc, result: &str) -> f64 {
    let name = format!("smsc_callbacks_total{{account=\"test\",result=\"{result}\"}}");
    smsc.admin().metric(&name).unwrap_or_default()
}

fn subscribers(came: &[Hook], path: &str) -> usize {
    let at = came.iter().filter(|hook| hook.path == path);
    let about = at.map(|hook| hook.json()["data"]["message_id"].to_string());
    about.collect::<HashSet<_>>().len()
}

fn row(smsc: &Smsc, fits: impl Fn(&Value) -> bool) -> Value {
    let admin = smsc.admin();
    until("the callbacks' row", || {
        let binds = admin.get("/v1/binds");
        let mut rows = binds["binds"].as_array().unwrap().iter();
        let row = rows.find(|row| row["direction"] == "callback" && fits(row))?;
        Some(row.clone())
    })
}

/// A backlog of `dead` for a port where nobody listens, and then some for its neighbour.
fn a_dead_port_holds_no_other(smsc: SmscBuilder, dead: usize) {
    let hooks = Hooks::taking();
    let smsc = smsc.start();
    send(&smsc, "test", &dead_url(), dead);
    row(&smsc, |row| row["reconnect_attempts"].as_u64() >= Some(3));
    send(&smsc, "test", &hooks.url("127.0.0.1"), 20);
    until("the good ones", || {
        (subscribers(&hooks.came(), "/hook") == 20).then_some(())
    });
    // The dead ones are given up, each after an attempt of its own.
    let given_up = "smsc_receipts_given_up_total";
    until("the end of the dead ones", || {
        (smsc.admin().metric(given_up) >= Some(dead as f64)).then_some(())
    });
    assert_eq!(smsc.admin().metric(given_up), Some(dead as f64));
    assert!(count_of(&smsc, "unreachable") >= dead as f64);
    assert_eq!(hooks.came().len(), 20, "each once");
    smsc.assert_no_panic();
}

#[test]
fn a_port_that_cannot_be_reached_holds_no_other_and_each_is_tried_before_it_is_given_up() {
    a_dead_port_holds_no_other(allowing("callback_retry_for = \"4s\"\n"), 300);
}

#[test]
fn a_port_that_cannot_be_reached_holds_no_other_from_postgresql() {
    let database = database();
    migrate(database.url());
    let store = format!("[postgres]\nurl = {:?}", database.url());
    let smsc = allowing("callback_retry_for = \"4s\"\n").toml(&store);
    a_dead_port_holds_no_other(smsc, 100);
}

#[test]
fn a_certificate_that_is_not_trusted_holds_no_other_url_of_its_host() {
    let bad = Hooks::with_tls(&Authority::new("callbacks").sign("localhost"));
    let good = Hooks::taking();
    let smsc = allowing("").start();
    let url = format!("https://localhost:{}/hook", bad.address().port());
    send(&smsc, "test", &url, 100);
    row(&smsc, |row| row["reconnect_attempts"].as_u64() >= Some(3));
    send(&smsc, "test", &good.url("localhost"), 20);
    good.wait_for(20);
    assert_eq!(bad.came().len(), 0);
    // It is one of two URLs that rests, so the row is no waiting one.
    let row = row(&smsc, |row| {
        row["urls"]["at_rest"] == 1 && row["urls"]["known"] == 2
    });
    assert_eq!(row["state"], "bound", "{row}");
}

#[test]
fn a_dead_url_of_receipts_does_not_stop_mo() {
    let hooks = Hooks::taking();
    let own = format!(
        "deliver_by = \"callback\"\ncallback_url = {:?}\ncallback_receipt_url = {:?}\naddresses = [\"12345\"]\n",
        hooks.url("127.0.0.1"),
        dead_url()
    );
    let mut scene = Scene::of(&keys(&own), "", |builder| builder);
    for number in 0..100 {
        let id = number.to_string();
        scene.submit_as(&id);
        scene.report(&id, "DELIVRD");
    }
    row(&scene.smsc, |row| {
        row["reconnect_attempts"].as_u64() >= Some(3)
    });
    for number in 0..10 {
        let mo = SubmitSm {
            source_addr: Bytes::from(format!("44770090012{number}")),
            destination_addr: Bytes::from_static(b"12345"),
            short_message: Bytes::from_static(b"STATUS"),
            ..SubmitSm::default()
        };
        let sequence = scene.bind.request(Body::DeliverSm(mo));
        let status = scene.bind.answer_to(sequence).status;
        assert_eq!(status, CommandStatus::ESME_ROK);
    }
    let came = hooks.wait_for(10);
    assert!(
        came.iter()
            .all(|hook| hook.json()["type"] == "message.received")
    );
}

#[test]
fn a_url_that_is_gone_is_left_alone_by_itself_until_the_queue_is_resumed() {
    let is_gone = Arc::new(AtomicU64::new(1));
    let gone = Arc::clone(&is_gone);
    let hooks = Hooks::answering(move |hook, _| {
        let is_gone = hook.path == "/gone" && gone.load(Ordering::Relaxed) == 1;
        HookReply::status(if is_gone { 410 } else { 204 })
    });
    let at = |path: &str| format!("http://127.0.0.1:{}{path}", hooks.address().port());
    let smsc = allowing("callback_concurrency = 1\n").start();
    send(&smsc, "test", &at("/gone"), 1);
    let shown = row(&smsc, |row| row["urls"]["gone"] == 1);
    assert_eq!(shown["last_error"], "HTTP 410");
    send(&smsc, "test", &at("/gone"), 30);
    send(&smsc, "test", &at("/good"), 30);
    send(&smsc, "test", &at("/gone?other=1"), 1);
    until("the good ones", || {
        (subscribers(&hooks.came(), "/good") == 30).then_some(())
    });
    until("another query", || {
        (subscribers(&hooks.came(), "/gone?other=1") == 1).then_some(())
    });
    let asked = |hooks: &Hooks| subscribers(&hooks.came(), "/gone");
    assert!(within(QUIET, || (asked(&hooks) > 1).then_some(())).is_none());
    is_gone.store(0, Ordering::Relaxed);
    let queue = "/v1/queues/callback-to:127.0.0.1@test/resume";
    assert_eq!(smsc.admin().post(queue).0, 200);
    row(&smsc, |row| row["urls"]["gone"] == 0);
    // What comes now goes at once; what has waited, a little later.
    send(&smsc, "test", &at("/gone"), 1);
    until("the first", || (asked(&hooks) > 1).then_some(()));
}

#[test]
fn what_a_receiver_does_not_know_does_not_slow_the_rest() {
    const MESSAGES: usize = 200;
    let (came, after) = (AtomicU64::new(0), Arc::new(AtomicU64::new(0)));
    let seen = Arc::clone(&after);
    // The first twelve subscribers are unknown; a poison resets the connection.
    let hooks = Hooks::answering(move |hook, _| {
        let to = hook.json()["data"]["to"].as_str().unwrap().to_owned();
        match to[7..].parse::<u32>().unwrap() {
            0..12 => {
                seen.fetch_max(came.load(Ordering::Relaxed), Ordering::Relaxed);
                HookReply::status(404)
            }
            12..15 => HookReply::Nothing,
            _ => {
                came.fetch_add(1, Ordering::Relaxed);
                HookReply::Slow(WORK)
            }
        }
    });
    let smsc = allowing("").start();
    // All come together, however long it takes to send them.
    order(&smsc, "test", "suspend");
    send(&smsc, "test", &hooks.url("127.0.0.1"), MESSAGES);
    order(&smsc, "test", "resume");
    let good = MESSAGES - 15;
    let all = until("the good ones", || {
        let all = hooks.came();
        (subscribers(&all, "/hook") == MESSAGES).then_some(all)
    });
    // The fifth attempt is fifteen seconds after the first: many times as long as the good ones take.
    let attempts = |number: usize| {
        let to = format!("4477009{number:05}");
        let of = all
            .iter()
            .filter(|hook| hook.json()["data"]["to"] == to.as_str());
        of.count()
    };
    let most = (0..15).map(attempts).max().unwrap();
    assert!(
        most <= 3,
        "{good} good ones came while one of the others was tried {most} times"
    );
}

/// Two receivers with the same work in the same time, one of which fails half of the requests.
#[expect(clippy::disallowed_methods, reason = "a thread of its own")]
#[test]
fn a_receiver_that_fails_half_of_the_time_gets_a_third_of_what_a_good_one_gets() {
    const MESSAGES: usize = 1_500;
    let good = Hooks::answering(|_, _| HookReply::Slow(WORK));
    let taken = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&taken);
    let random = AtomicU64::new(88_172_645_463_325_252);
    let bad = Hooks::answering(move |_, _| {
        let next = |mut x: u64| {
            x ^= x << 13;
            x ^= x >> 7;
            Some(x ^ x << 17)
        };
        let order = Ordering::Relaxed;
        let drawn = random.fetch_update(order, order, next).unwrap();
        if (drawn >> 20).is_multiple_of(2) {
            std::thread::sleep(WORK);
            return HookReply::status(500);
        }
        counted.fetch_add(1, order);
        HookReply::Slow(WORK)
    });
    let few = keys("callback_concurrency = 4\n");
    let smsc = Smsc::new()
        .with_api()
        .account_with("good", "good", &few)
        .account_with("bad", "bad", &few)
        .route("", "test:delivered")
        .start();
    ["good", "bad"]
        .iter()
        .for_each(|account| order(&smsc, account, "suspend"));
    send(&smsc, "good", &good.url("127.0.0.1"), MESSAGES);
    send(&smsc, "bad", &bad.url("127.0.0.1"), MESSAGES);
    ["bad", "good"]
        .iter()
        .for_each(|account| order(&smsc, account, "resume"));
    let (of_good, of_bad) = until("most of the good ones", || {
        let of_good = good.came().len();
        (of_good >= MESSAGES * 2 / 3).then(|| (of_good, taken.load(Ordering::Relaxed)))
    });
    let share = of_bad as f64 / of_good as f64;
    println!("half fails: {of_bad} taken beside {of_good} of a good receiver: {share:.2}");
    assert!(share >= 0.3, "{of_bad} beside {of_good}");
}

/// Twenty good URLs of two accounts; one has five dead ones beside them, with a backlog.
#[test]
fn five_dead_urls_do_not_take_half_of_the_speed_of_twenty_good_ones() {
    const EACH: usize = 60;
    let good = Hooks::answering(|_, _| HookReply::Slow(WORK));
    let fails = Hooks::answering(|_, _| HookReply::status(500));
    let resets = Hooks::answering(|_, _| HookReply::Nothing);
    let hangs = Hooks::answering(|hook, _| match hook.path.as_str() {
        "/hook" => HookReply::Slow(Duration::from_secs(600)),
        _ => HookReply::Slow(WORK),
    });
    let few = keys("callback_concurrency = 8\n");
    let smsc = Smsc::new()
        .with_api()
        .account_with("alone", "alone", &few)
        .account_with("beside", "beside", &few)
        .route("", "test:delivered")
        .start();
    ["alone", "beside"]
        .iter()
        .for_each(|account| order(&smsc, account, "suspend"));
    for hooks in [&fails, &resets, &hangs] {
        send(&smsc, "beside", &hooks.url("127.0.0.1"), EACH);
    }
    send(&smsc, "beside", &dead_url(), EACH);
    send(&smsc, "beside", &dead_url(), EACH);
    for url in 0..20 {
        for account in ["alone", "beside"] {
            let path = format!("/{account}/{url}");
            let url = format!("http://127.0.0.1:{}{path}", good.address().port());
            send(&smsc, account, &url, EACH);
        }
    }
    // Both in the same time, so that a busy machine slows both.
    ["beside", "alone"]
        .iter()
        .for_each(|account| order(&smsc, account, "resume"));
    let since = Instant::now();
    let mut took = [None, None];
    let [alone, beside] = within(LIMIT, || {
        let came = good.came();
        for (account, took) in ["/alone/", "/beside/"].iter().zip(&mut took) {
            let of = came.iter().filter(|hook| hook.path.starts_with(account));
            if of.count() == 20 * EACH {
                took.get_or_insert_with(|| since.elapsed());
            }
        }
        Some([took[0]?, took[1]?])
    })
    .unwrap_or_else(|| panic!("not all good ones came in {LIMIT:?}"));
    println!("20 good URLs: {beside:?} beside 5 dead ones, {alone:?} without");
    assert!(
        beside < alone * 2,
        "{beside:?} beside dead ones, {alone:?} without"
    );
}

/// Two hundred URLs of an account, of which eighty are dead in four ways and have a backlog, beside another account with the
/// good ones alone.
#[test]
fn eighty_dead_urls_of_two_hundred_hold_up_no_good_ones() {
    const GOOD: usize = 120;
    const OF_EACH_KIND: usize = 20;
    const OF_DEAD: usize = 10;
    const OF_GOOD: usize = 30;
    // All at one port, but for those that nobody listens at.
    let hooks = Hooks::answering(|hook, _| match hook.path.split('/').nth(1) {
        Some("fails") => HookReply::status(500),
        Some("resets") => HookReply::Nothing,
        Some("hangs") => HookReply::Slow(Duration::from_secs(600)),
        _ => HookReply::Slow(WORK),
    });
    let at = |path: &str, number: usize| {
        format!(
            "http://127.0.0.1:{}/{path}/{number}",
            hooks.address().port()
        )
    };
    let few = keys("callback_concurrency = 8\n");
    let smsc = Smsc::new()
        .with_api()
        .account_with("alone", "alone", &few)
        .account_with("beside", "beside", &few)
        .route("", "test:delivered")
        .start();
    let accounts = ["beside", "alone"];
    accounts
        .iter()
        .for_each(|account| order(&smsc, account, "suspend"));
    for number in 0..OF_EACH_KIND {
        for path in ["fails", "resets", "hangs"] {
            send(&smsc, "beside", &at(path, number), OF_DEAD);
        }
        send(&smsc, "beside", &dead_url(), OF_DEAD);
    }
    for number in 0..GOOD {
        for account in accounts {
            send(&smsc, account, &at(account, number), OF_GOOD);
        }
    }
    accounts
        .iter()
        .for_each(|account| order(&smsc, account, "resume"));
    let since = Instant::now();
    let mut took = [None, None];
    let [beside, alone] = within(LIMIT, || {
        let came = hooks.came();
        for (account, took) in accounts.iter().zip(&mut took) {
            let beginning = format!("/{account}/");
            let of = came.iter().filter(|hook| hook.path.starts_with(&beginning));
            if of.count() == GOOD * OF_GOOD {
                took.get_or_insert_with(|| since.elapsed());
            }
        }
        Some([took[0]?, took[1]?])
    })
    .unwrap_or_else(|| panic!("not all good ones came in {LIMIT:?}"));
    println!("{GOOD} good URLs: {beside:?} beside 80 dead ones, {alone:?} without");
    assert!(
        beside < alone * 3,
        "{beside:?} beside dead ones, {alone:?} without"
    );
    smsc.assert_no_panic();
}
