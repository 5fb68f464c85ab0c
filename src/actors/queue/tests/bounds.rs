//! What a queue does not exceed: attempts that a crash would repeat, and the time to find one of many.

use super::*;

#[actix::test]
async fn what_is_answered_and_not_durable_is_bounded_by_windows_and_one_commit() {
    const WINDOW: usize = 3;
    const COMMIT: usize = 5;
    let rig = rig_with(|config| config.store.batch_rows = COMMIT).await;
    let ids = rig.accept(40, 0).await;
    rig.credit(WINDOW as u32).await;
    // Each is answered at once; nobody writes what came of it.
    let mut answered = 0;
    loop {
        tokio::time::sleep(TICK).await;
        let given = lock(&rig.got).clone();
        let new = given[answered..].to_vec();
        if new.is_empty() {
            break;
        }
        answered = given.len();
        rig.port.unwritten.add(new.len());
        rig.send(SettleBatch {
            session: SESSION,
            room: new.len() as u32,
            done: new,
            ..SettleBatch::default()
        })
        .await;
    }
    assert_eq!(answered, WINDOW + COMMIT);
    // Four become durable: four more may go, in the same order.
    drop(Counted::counted_before(&rig.port, 4));
    rig.given(answered + 4 - 1).await;
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(lock(&rig.got)[..], ids[..answered + WINDOW.min(4)]);
    assert_eq!(
        rig.port.snapshot.get().unwritten,
        (WINDOW + COMMIT - 4) as u64
    );
}

/// Queues with a few and with many messages, half of them scheduled, are asked for one after another:
/// the time that it takes for all, and how many are left.
fn time_to_find(rig: &Rig, waiting: u64) -> (std::time::Duration, usize) {
    let seed = |id: u64| Seed {
        item: Item {
            id,
            expires: u32::MAX,
            attempts: 0,
            priority: 1,
            what: What::Message,
            part: 0,
            sender: 0,
        },
        due_at: (id % 2) as i64 * i64::MAX,
        unsure: false,
    };
    let seeds = (1..=waiting).map(seed).collect();
    let mut queue = Queue::new(Arc::clone(&rig.hub), Arc::clone(&rig.port), seeds);
    let step = waiting / 1000;
    let started = std::time::Instant::now();
    for id in (1..=1000).map(|one| one * step - one % 2) {
        assert!(matches!(queue.remove(id, None), waiting::Taken::Item(item) if item.id == id));
    }
    (started.elapsed(), queue.len())
}

#[actix::test]
async fn one_message_is_found_as_fast_among_many_as_among_few() {
    let rig = rig().await;
    let (few, _) = time_to_find(&rig, 10_000);
    let (many, left) = time_to_find(&rig, 1_000_000);
    assert_eq!(left, 1_000_000 - 1000);
    assert!(many < few * 20, "{few:?} among few, {many:?} among many");
}
