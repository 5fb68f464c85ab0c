//! Requests with an Idempotency-Key that come to several nodes.

use bytes::Bytes;
use smsc::store::idempotency::{ABANDONED, Claimed, IdempotencyStore, KeyClaim};
use smsc::store::{Store, StoreError, WriteBatch};

use super::database::{Database, Node};
use super::{ClusterStore, accept};

const DAY: i64 = 86_400_000;
const MIDNIGHT: i64 = 19_700 * DAY;

fn claim(key: u8, at: i64) -> KeyClaim {
    KeyClaim {
        account: 1,
        key: [key; 32],
        request: [0; 32],
        at,
        since: at - 2 * DAY,
    }
}

fn claimed(node: &Node, claim: &KeyClaim) -> Claimed {
    node.store.claim_key(claim.clone()).wait().expect("answers")
}

fn answered(claim: &KeyClaim, id: u64) -> WriteBatch {
    WriteBatch {
        idempotency: vec![claim.answered(Bytes::from_static(b"answer"))],
        ..accept(id)
    }
}

fn done() -> Claimed {
    Claimed::Done(Bytes::from_static(b"answer"))
}

fn is_stored(node: &Node, id: u64) -> bool {
    node.store.load(vec![id]).wait().expect("loads")[0].is_some()
}

#[test]
fn one_of_many_requests_at_once_is_carried_out() {
    let database = Database::new();
    let nodes = [database.node(), database.node()];
    // Half of them before midnight by the clock of their node, half of them after it.
    for key in 0..20 {
        let won: usize = std::thread::scope(|scope| {
            let asking: Vec<_> = (0..8)
                .map(|n| {
                    let claim = claim(key, MIDNIGHT - 1 + (n / 2) % 2);
                    let node = &nodes[n as usize % 2];
                    scope.spawn(move || match claimed(node, &claim) {
                        Claimed::New => {
                            let id = (1 << 30) + (u64::from(key) << 8) + n as u64;
                            let written = node.store.write(answered(&claim, id)).wait();
                            written.expect("its claim holds");
                            1
                        }
                        Claimed::InProgress => 0,
                        other => {
                            assert_eq!(other, done());
                            0
                        }
                    })
                })
                .collect();
            let won = asking.into_iter().map(|one| one.join().expect("no panic"));
            won.sum()
        });
        assert_eq!(won, 1);
        for node in &nodes {
            assert_eq!(claimed(node, &claim(key, MIDNIGHT + DAY)), done());
        }
    }
    let session = database.session();
    assert_eq!(session.value("SELECT count(*) FROM msg"), "20");
    assert_eq!(session.value("SELECT count(*) FROM idempotency"), "20");
}

/// In whatever order: each asks in another one, and none waits for another for ever.
#[test]
fn of_many_batches_at_once_one_has_each_key() {
    const KEYS: u8 = 200;
    let database = Database::new();
    let nodes = [database.node(), database.node()];
    for round in 0..5 {
        let asked = |n: usize| {
            let keys = (0..KEYS).map(|key| match n {
                0 => key,
                1 => KEYS - 1 - key,
                _ => key.wrapping_mul(77).wrapping_add(n as u8) % KEYS,
            });
            let claims = keys.map(|key| KeyClaim {
                account: round,
                ..claim(key, MIDNIGHT)
            });
            claims.collect::<Vec<_>>()
        };
        let won: usize = std::thread::scope(|scope| {
            let asking = (0..4).map(|n| {
                let (node, asked) = (&nodes[n % 2], asked(n));
                scope.spawn(move || {
                    let claimed = node.store.claim_keys(asked).wait().expect("answers");
                    let won = claimed.iter().filter(|one| **one == Claimed::New);
                    won.count()
                })
            });
            let asking: Vec<_> = asking.collect();
            let won = asking.into_iter().map(|one| one.join().expect("no panic"));
            won.sum()
        });
        assert_eq!(won, usize::from(KEYS));
    }
}

#[test]
fn what_a_batch_has_claimed_is_free_again_when_it_fails() {
    let database = Database::new();
    let node = database.node();
    let known = claim(0, MIDNIGHT);
    assert_eq!(claimed(&node, &known), Claimed::New);
    // More than are claimed in a transaction, and a last one that no transaction can claim.
    let mut asked: Vec<KeyClaim> = (0..=u8::MAX).map(|key| claim(key, MIDNIGHT + 1)).collect();
    asked.push(KeyClaim {
        at: i64::MIN,
        ..claim(1, MIDNIGHT)
    });
    let failed = node.store.claim_keys(asked.clone()).wait();
    assert!(matches!(failed, Err(StoreError::Failed(_))), "{failed:?}");
    asked.pop();
    let again = node.store.claim_keys(asked).wait().expect("answers");
    assert_eq!(again[0], Claimed::InProgress, "what another request has");
    assert!(
        again[1..].iter().all(|one| *one == Claimed::New),
        "{again:?}"
    );
}

/// A claim alone need not outlast a crash of the database, but an answer that was told must.
#[test]
fn a_batch_that_tells_an_answer_is_committed_durably() {
    let database = Database::new();
    let node = database.node();
    let known = claim(1, MIDNIGHT);
    assert_eq!(claimed(&node, &known), Claimed::New);
    let written = node.store.write(answered(&known, 1 << 20)).wait();
    written.expect("its claim holds");
    let session = database.session();
    let durable_after = |keys: [u8; 2]| {
        let asked = keys.map(|key| format!("decode(repeat('{key:02x}', 32), 'hex')"));
        session.run(&format!(
            "BEGIN; SELECT * FROM claim_idempotency_keys(ARRAY[1, 1], ARRAY[{}], array_fill(decode(repeat('00', 32), 'hex'), ARRAY[2]),
               {}, {}, ARRAY[{MIDNIGHT}, {MIDNIGHT}]::bigint[], ARRAY[0, 0]::bigint[], {ABANDONED})",
            asked.join(", "),
            node.me.node,
            node.me.epoch,
        ));
        let durable = session.value("SHOW synchronous_commit");
        session.run("COMMIT");
        durable
    };
    assert_eq!(durable_after([2, 3]), "off");
    assert_eq!(durable_after([1, 4]), "on");
    let given = "SELECT count(*) FROM idempotency WHERE given";
    assert_eq!(session.value(given), "1");
}

#[test]
fn a_claim_of_a_node_that_left_is_over() {
    let database = Database::new();
    let (stays, leaves) = (database.node(), database.node());
    let (first, second) = (claim(1, MIDNIGHT - 1), claim(1, MIDNIGHT + 1));
    assert_eq!(claimed(&leaves, &first), Claimed::New);
    assert_eq!(claimed(&stays, &second), Claimed::InProgress);
    leaves.store.leave().expect("leaves");
    assert_eq!(claimed(&stays, &second), Claimed::New);
    let late = leaves.store.write(answered(&first, 1 << 20)).wait();
    assert_eq!(late, Err(StoreError::Fenced));
    stays
        .store
        .write(answered(&second, 2 << 20))
        .wait()
        .expect("written");
    assert!(!is_stored(&stays, 1 << 20) && is_stored(&stays, 2 << 20));
    assert_eq!(claimed(&stays, &first), done());
}

#[test]
fn an_answer_that_comes_after_the_claim_was_taken_over_is_refused_with_its_messages() {
    let database = Database::new();
    let (slow, quick) = (database.node(), database.node());
    let first = claim(1, MIDNIGHT - 1);
    assert_eq!(claimed(&slow, &first), Claimed::New);
    let in_time = claim(1, first.at + ABANDONED);
    assert_eq!(claimed(&quick, &in_time), Claimed::InProgress);
    let second = claim(1, first.at + ABANDONED + 1);
    assert_eq!(claimed(&quick, &second), Claimed::New);
    // Giving back what is not held any more does nothing.
    slow.store
        .release_key(first.clone())
        .wait()
        .expect("answers");
    assert_eq!(claimed(&slow, &second), Claimed::InProgress);

    // Probably one transaction with others, which are not refused.
    let mates = [3 << 20, 4 << 20].map(|id| slow.store.write(accept(id)));
    let late = slow.store.write(answered(&first, 1 << 20)).wait();
    assert!(matches!(late, Err(StoreError::Failed(_))), "{late:?}");
    for mate in mates {
        mate.wait().expect("written");
    }
    quick
        .store
        .write(answered(&second, 2 << 20))
        .wait()
        .expect("written");
    let stored: Vec<bool> = (1..=4).map(|n| is_stored(&quick, n << 20)).collect();
    assert_eq!(stored, [false, true, true, true]);
    assert_eq!(claimed(&slow, &first), done());
    assert_eq!(quick.store.stats().quarantined, 0);
}

/// What no answer guards, such as the claim to replay, goes by it: nodes follow the database's clock slowly when that is
/// set, and one that joins takes it as it is.
#[test]
fn the_clock_of_the_store_is_the_databases() {
    let database = Database::new();
    // An hour ahead of this machine's.
    database.session().run(
        "CREATE SCHEMA ahead;
         CREATE FUNCTION ahead.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
           AS 'SELECT pg_catalog.clock_timestamp() + interval ''1 hour''';
         DO $$ BEGIN
           EXECUTE format('ALTER DATABASE %I SET search_path = public, ahead, pg_catalog', current_database());
         END $$",
    );
    let theirs = database.store().now_ms().wait().expect("answers");
    let ahead = theirs - smsc::clock::now_ms();
    assert!(ahead > 1_800_000, "{ahead} ms");
}

#[test]
fn an_answer_that_is_just_being_written_is_found() {
    let database = Database::new();
    let (slow, quick) = (database.node(), database.node());
    let first = claim(1, MIDNIGHT - 1);
    assert_eq!(claimed(&slow, &first), Claimed::New);
    // A transaction that has written the answer and is not committed yet.
    let writer = database.session();
    writer.run(&format!(
        "BEGIN; SELECT answer_idempotency(ARRAY[{}], ARRAY[1], ARRAY[decode(repeat('01', 32), 'hex')],
           ARRAY[{}]::bigint[], ARRAY['answer'::bytea], {}, {})",
        first.at / DAY,
        first.at,
        slow.me.node,
        slow.me.epoch
    ));
    let asking = quick.store.claim_key(claim(1, first.at + ABANDONED + 1));
    let waits = "EXISTS(SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
       AND wait_event_type = 'Lock' AND query LIKE '%claim_idempotency%')";
    database.session().wait_until(waits);
    writer.run("COMMIT");
    assert_eq!(asking.wait(), Ok(done()));
}
