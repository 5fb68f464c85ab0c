//! `mode = "operator"` with Redis: the counter in which other programs count as well decides what is above the rate.

use deadpool_redis::redis::{Client, Commands as _, Connection, cmd};

use crate::harness::dispatch::{Dispatch, commands};
use crate::harness::{RedisDatabase, Simulator, Smsc, redis_database, until};

use super::{count, exactly_once};

const MODE: &str = "operator = 'up'\nmode = 'operator'";
const RATE: u64 = 100;
/// Seconds that another program has used up in advance; the SMSC needs a fraction of them.
const AHEAD: u64 = 120;

/// A shared counter, the SMSC, and an operator that takes everything.
struct Shared {
    redis: RedisDatabase,
    dispatch: Dispatch,
    _operator: Simulator,
    smsc: Smsc,
}

impl Shared {
    fn start() -> Self {
        let (dispatch, redis) = (Dispatch::start(), redis_database());
        let operator = Simulator::new().start();
        let smsc = Smsc::new()
            .account("test", "test")
            .operator_with(
                "up",
                operator.address(),
                &format!("rate = {RATE}\nwindow = 1000"),
            )
            .route("", "up")
            .toml(&format!(
                "[redis]\nurl = {:?}\nlimit = \"fixed\"",
                redis.url()
            ))
            .toml(&dispatch.source(MODE))
            .start();
        smsc.wait_for_binds("up", 1);
        let shared = Self {
            redis,
            dispatch,
            _operator: operator,
            smsc,
        };
        until("Redis to be reached", || {
            let metric = shared.smsc.admin().metric("smsc_throttle_redis_up");
            (metric == Some(1.0)).then_some(())
        });
        shared.dispatch.consumer();
        shared
    }

    fn connection(&self) -> Connection {
        let client = Client::open(self.redis.url()).unwrap();
        client.get_connection().unwrap()
    }
}

fn second(connection: &mut Connection) -> u64 {
    let (second, _): (u64, u64) = cmd("TIME").query(connection).unwrap();
    second
}

#[test]
fn what_other_programs_count_is_heard() {
    let shared = Shared::start();
    let mut connection = shared.connection();
    let now = second(&mut connection);
    let keys: Vec<String> = (now..now + AHEAD)
        .map(|at| format!("tps:up:{at}"))
        .collect();
    for key in &keys {
        let () = connection.set(key, RATE).unwrap();
    }
    let admin = shared.smsc.admin();
    shared.dispatch.publish_all(&commands(0..3));
    until("all commands to go back twice", || {
        (count(&admin, "delayed") >= 6.0).then_some(())
    });
    assert_eq!(count(&admin, "accepted"), 0.0);
    let went_back = admin
        .metric("smsc_operator_commands_throttled_total{queue=\"operator:up\"}")
        .unwrap();
    assert!(went_back >= 6.0, "{went_back}");
    let () = connection.del(&keys).unwrap();
    shared.dispatch.wait_until_done();
    exactly_once(&admin, 0..3);
}

/// A second in which no other command comes shows it; until then it is begun anew.
#[test]
fn what_is_admitted_is_counted_once() {
    const COMMANDS: usize = 40;
    let shared = Shared::start();
    let mut connection = shared.connection();
    let admin = shared.smsc.admin();
    let sent = || {
        admin
            .metric("smsc_attempts_total{queue=\"operator:up\",result=\"ok\"}")
            .unwrap_or(0.0)
    };
    let mut published = 0;
    let is_shown = (0..20).any(|_| {
        let before = sent();
        let began = second(&mut connection);
        shared
            .dispatch
            .publish_all(&commands(published..published + COMMANDS));
        published += COMMANDS;
        until("all of them to be sent", || {
            (sent() - before >= COMMANDS as f64).then_some(())
        });
        let counted: Option<usize> = connection.get(format!("tps:up:{began}")).unwrap();
        let in_time = second(&mut connection) == began;
        if in_time {
            assert_eq!(counted, Some(COMMANDS));
        }
        shared.dispatch.wait_until_done();
        in_time
    });
    assert!(
        is_shown,
        "this machine is too slow for {COMMANDS} commands in a second"
    );
}
