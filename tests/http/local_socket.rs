//! Programs on the same machine submit, follow, list and cancel messages over the UNIX socket, as the account of their
//! user and as no other.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use smsc::pb::local::{
    Alphabet, Cancel, Cause, Data, Details, Draft, Get, List, Page, Reason, State, VERSION,
    draft::Content,
};

use crate::harness::local::{Asked, Program, Said, draft};
use crate::harness::{Peer, Smsc, SmscBuilder, until};

pub const TO: &str = "447700900123";

/// The user that the tests run as.
pub fn uid() -> u32 {
    rustix::process::getuid().as_raw()
}

/// The table `[local]`: the user of the tests is the account `test`.
pub fn table(keys: &str) -> String {
    let users = format!("users = {{ {} = \"test\" }}", uid());
    format!("[local]\nsocket = \"smsc.sock\"\n{users}\n{keys}")
}

/// An SMSC with accounts `test` and `other`, whose messages are delivered at once, except those that begin with 99; the
/// user of the tests is `test`.
pub fn serving(keys: &str) -> SmscBuilder {
    Smsc::new()
        .toml(&table(keys))
        .account("test", "test")
        .account("other", "other")
        .route("99", "test:unreachable")
        .route("", "test:delivered")
}

pub fn socket(smsc: &Smsc) -> PathBuf {
    smsc.file("smsc.sock")
}

fn get(program: &mut Program, id: u64) -> Details {
    match program.ask(Asked::Get(Get { id })) {
        Some(Said::Details(details)) => details,
        other => panic!("{other:?}"),
    }
}

pub fn list(program: &mut Program, list: List) -> Page {
    match program.ask(Asked::List(list)) {
        Some(Said::Page(page)) => page,
        other => panic!("{other:?}"),
    }
}

fn failure(said: Option<Said>) -> (Reason, String) {
    match said {
        Some(Said::Failure(failure)) => (failure.reason(), failure.detail),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_is_submitted_and_followed_to_its_end() {
    let smsc = serving("").start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let (mut program, welcome) = Program::greet(&socket(&smsc), VERSION);
    let Said::Welcome(welcome) = welcome else {
        panic!("{welcome:?}");
    };
    assert_eq!((welcome.version, &*welcome.account), (VERSION, "test"));
    let outcomes = program.outcomes(vec![
        Draft {
            receipt: true,
            reference: "order 7".to_owned(),
            ..draft("+44 7700 900123", "hello")
        },
        draft("nobody", "hello"),
        draft(TO, &"ж".repeat(100)),
        Draft {
            content: Some(Content::Data(Data {
                octets: vec![1, 2, 3].into(),
                ..Data::default()
            })),
            ..draft(TO, "")
        },
        Draft {
            alphabet: Alphabet::Gsm.into(),
            ..draft(TO, "ж")
        },
    ]);
    let parts: Vec<u32> = outcomes.iter().map(|one| one.parts).collect();
    assert_eq!(parts, [1, 0, 2, 1, 0], "{outcomes:?}");
    for (refused, field) in [(1, "to "), (4, "text: ")] {
        let refusal = outcomes[refused].refusal.as_ref().unwrap();
        assert_eq!(refusal.cause(), Cause::BadValue);
        assert!(refusal.detail.starts_with(field), "{refusal:?}");
    }
    let id = outcomes[0].id;
    let ended = until("the message has ended", || {
        let details = get(&mut program, id);
        let message = details.message.as_ref().unwrap();
        (message.ended_at != 0).then_some(details)
    });
    let steps: Vec<&str> = ended.steps.iter().map(|step| &*step.what).collect();
    assert_eq!(steps, ["accepted", "sent", "delivered"]);
    let message = ended.message.unwrap();
    assert_eq!((&*message.to, &*message.from), (TO, "12345"));
    assert_eq!(message.reference, "order 7");
    assert_eq!(message.state(), State::Delivered);
    // The receipt comes the way that the account has all of them.
    let receipt = esme.deliver();
    let text = String::from_utf8_lossy(&receipt.short_message).into_owned();
    assert!(text.contains(&id.to_string()), "{text}");
}

#[test]
fn a_waiting_message_is_cancelled() {
    let smsc = serving("").start();
    let mut program = Program::open(&socket(&smsc));
    let id = program.send("99123", "hello");
    // While its first attempt is under way it is not.
    until("it to wait again", || {
        match program.ask(Asked::Cancel(Cancel { id })) {
            Some(Said::Cancelled(_)) => Some(()),
            Some(Said::Failure(failure)) if failure.reason() == Reason::Conflict => None,
            other => panic!("{other:?}"),
        }
    });
    until("it is deleted", || {
        let state = get(&mut program, id).message.unwrap().state();
        (state == State::Deleted).then_some(())
    });
    let (reason, detail) = failure(program.ask(Asked::Cancel(Cancel { id })));
    assert_eq!(reason, Reason::Conflict, "{detail}");
    let (reason, _) = failure(program.ask(Asked::Cancel(Cancel { id: 7 })));
    assert_eq!(reason, Reason::NotFound);
}

#[test]
fn messages_are_listed_page_by_page() {
    let smsc = serving("").start();
    let mut program = Program::open(&socket(&smsc));
    let ids: Vec<u64> = (0..5).map(|_| program.send("99123", "hello")).collect();
    let elsewhere = program.send(TO, "hello");
    let (mut found, mut before, mut pages) = (Vec::new(), 0, 0);
    loop {
        let page = list(
            &mut program,
            List {
                to: "+99123".to_owned(),
                state: State::Enroute.into(),
                limit: 2,
                before,
                ..List::default()
            },
        );
        found.extend(page.messages.iter().map(|message| message.id));
        pages += 1;
        before = page.next_before;
        if before == 0 {
            break;
        }
    }
    let newest_first: Vec<u64> = ids.into_iter().rev().collect();
    assert_eq!(found, newest_first);
    assert!(pages >= 3, "{pages} pages");
    let all = list(&mut program, List::default());
    assert_eq!(all.messages.len(), 6);
    assert_eq!(all.messages[0].id, elsewhere);
    for wrong in [
        List {
            limit: 1_001,
            ..List::default()
        },
        List {
            state: 77,
            ..List::default()
        },
    ] {
        let (reason, _) = failure(program.ask(Asked::List(wrong)));
        assert_eq!(reason, Reason::BadValue);
    }
}

#[test]
fn an_account_has_its_own_messages_only() {
    let smsc = serving("").start();
    let path = socket(&smsc);
    let mut program = Program::open(&path);
    let id = program.send("99123", "hello");
    // The same user becomes another account, without a restart.
    let mine = format!("{} = \"test\"", uid());
    let theirs = format!("{} = \"other\"", uid());
    smsc.set_config(&smsc.config().replace(&mine, &theirs));
    smsc.reload();
    let (reason, detail) = program.is_parted();
    assert_eq!(reason, Reason::NoAccount, "{detail}");
    let mut program = Program::open(&path);
    assert_eq!(list(&mut program, List::default()).messages, []);
    let (reason, said) = failure(program.ask(Asked::Get(Get { id })));
    assert_eq!(reason, Reason::NotFound);
    // In the words for an id that nobody has.
    let (_, nobodys) = failure(program.ask(Asked::Get(Get { id: id + 1 })));
    assert_eq!(
        said.replace(&id.to_string(), ""),
        nobodys.replace(&(id + 1).to_string(), "")
    );
    let (reason, _) = failure(program.ask(Asked::Cancel(Cancel { id })));
    assert_eq!(reason, Reason::NotFound);
    let message = smsc.admin().get(&format!("/v1/messages/{id}"));
    assert_eq!(message["state"], "ENROUTE");
}

#[test]
fn who_has_no_account_is_refused() {
    let smsc = serving("").start();
    let path = socket(&smsc);
    let mut program = Program::open(&path);
    let (status, _) = smsc.admin().call("DELETE", "/v1/accounts/test", None);
    assert!(status < 300, "{status}");
    let (reason, _) = program.is_parted();
    assert_eq!(reason, Reason::NoAccount);
    let (mut program, said) = Program::greet(&path, VERSION);
    let Said::Goodbye(goodbye) = said else {
        panic!("{said:?}");
    };
    assert_eq!(goodbye.reason(), Reason::NoAccount);
    assert_eq!(program.next(), None);
    // Nobody is meant by the users that are left.
    let mine = format!("{} = \"test\"", uid());
    smsc.set_config(&smsc.config().replace(&mine, "4294967294 = \"test\""));
    smsc.reload();
    until("the user is unknown", || {
        match Program::greet(&path, VERSION).1 {
            Said::Goodbye(goodbye) => {
                let said = format!("user {}", uid());
                (goodbye.reason() == Reason::UnknownUser && goodbye.detail.contains(&said))
                    .then_some(())
            }
            _ => None,
        }
    });
}

#[test]
fn what_cannot_be_read_is_refused_and_others_are_served() {
    let smsc = serving("max_frame = 4096\nframe_timeout = \"1s\"\nmax_connections = 4").start();
    let path = socket(&smsc);
    let mut served = Program::open(&path);
    let (mut wrong, said) = Program::greet(&path, VERSION + 1);
    assert!(
        matches!(&said, Said::Goodbye(goodbye) if goodbye.reason() == Reason::Version),
        "{said:?}"
    );
    assert_eq!(wrong.next(), None);
    drop(wrong);
    let fresh = |path: &Path| {
        // Who has just hung up may count still.
        until("there is room", || match Program::greet(path, VERSION) {
            (program, Said::Welcome(_)) => Some(program),
            _ => None,
        })
    };
    let mut large = fresh(&path);
    let said = large.submit(vec![draft(TO, &"a".repeat(5_000))], "");
    assert!(
        matches!(&said, Some(Said::Goodbye(goodbye)) if goodbye.reason() == Reason::TooLarge),
        "{said:?}"
    );
    drop(large);
    let mut half = fresh(&path);
    let (reason, _) = {
        let said = Program::greet(&path, VERSION).1;
        match said {
            Said::Goodbye(goodbye) => (goodbye.reason(), goodbye.detail),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(reason, Reason::Connections);
    half.write(b"\x09\x08\x02");
    let (reason, detail) = half.is_parted();
    assert_eq!(reason, Reason::Malformed, "{detail}");
    served.send(TO, "hello");
    let expected = [
        "smsc_local_connections_ended_total{reason=\"version\"} 1",
        "smsc_local_connections_ended_total{reason=\"too_large\"} 1",
        "smsc_local_connections_ended_total{reason=\"malformed\"} 1",
        "smsc_local_requests_total{request=\"submit\",result=\"ok\"} 1",
        "smsc_binds{name=\"test\",direction=\"local\",state=\"bound\"} 1",
    ];
    // Who has just hung up may be shown still.
    until("metrics say so", || {
        let (_, metrics) = smsc.admin().text("/metrics").ok()?;
        let has = |series: &&str| metrics.contains(*series);
        expected.iter().all(has).then_some(())
    });
}

#[test]
fn messages_pass_the_policies_of_the_account() {
    let smsc = serving("")
        .account_with("slow", "slow", "rate = 1\nburst = 1")
        .toml("[policy]\nblocked_destinations = [\"447700900666\"]")
        .start();
    let mut program = Program::open(&socket(&smsc));
    let cause = |outcome: &smsc::pb::local::Outcome| outcome.refusal.as_ref().map(|r| r.cause());
    let outcomes = program.outcomes(vec![draft("447700900666", "hello"), draft(TO, "hello")]);
    assert_eq!(
        cause(&outcomes[0]),
        Some(Cause::Destination),
        "{outcomes:?}"
    );
    assert_eq!(cause(&outcomes[1]), None, "{outcomes:?}");
    let mine = format!("{} = \"test\"", uid());
    let slow = format!("{} = \"slow\"", uid());
    smsc.set_config(&smsc.config().replace(&mine, &slow));
    smsc.reload();
    program.is_parted();
    let mut program = Program::open(&socket(&smsc));
    let batch = program.submit(vec![draft(TO, "hello"); 2], "");
    let Some(Said::Failure(failed)) = batch else {
        panic!("more than the burst is taken: {batch:?}");
    };
    assert_eq!(failed.reason(), Reason::BadValue, "{failed:?}");
    assert!(failed.detail.contains("at most 1"), "{failed:?}");
    let outcomes = (0..20).map(|_| program.outcomes(vec![draft(TO, "hello")]).remove(0));
    let outcomes: Vec<_> = outcomes.collect();
    let limited = outcomes
        .iter()
        .filter(|one| cause(one) == Some(Cause::Rate));
    assert!(limited.count() > 10, "{outcomes:?}");
}

#[test]
fn connections_are_shown_among_the_binds() {
    let smsc = serving("").start();
    let mut program = Program::open(&socket(&smsc));
    program.send(TO, "hello");
    let shown = until("the connection is shown", || {
        let binds = smsc.admin().get("/v1/binds");
        let local = |bind: &&Value| bind["direction"] == "local" && bind["received_total"] == 2;
        binds["binds"].as_array()?.iter().find(local).cloned()
    });
    assert_eq!(
        (&shown["name"], &shown["bind_type"], &shown["state"]),
        (&json!("test"), &json!("client"), &json!("bound"))
    );
    let peer = shown["peer"].as_str().unwrap();
    let is_this = format!("uid {}, pid {}, harness", uid(), std::process::id());
    assert_eq!(peer, is_this);
}
