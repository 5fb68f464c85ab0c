//! A subscriber is there again while nobody has its messages: their node has died, and no other one has adopted its partitions yet.

use super::*;
use crate::actors::test_support::until;
use crate::pb::SubscriberReady;

const HOUR_MS: i64 = 3_600_000;

impl Fixture {
    /// The network says that the recipient is there.
    async fn alert(&self) {
        self.send(SubscriberReady {
            queue: self.port.id,
            msisdn: NUMBER.to_owned(),
            ..SubscriberReady::default()
        })
        .await;
    }

    /// The partition of a dead node comes with messages that were tried once and are due in an hour.
    async fn adopt(&self, messages: &[Message]) {
        let due_at = clock::now_ms() + HOUR_MS;
        let seeds = messages.iter().map(|message| Seed {
            item: Item {
                part: 1,
                attempts: 1,
                ..Item::message(message.id)
            },
            due_at,
            unsure: false,
            ended: 0,
        });
        self.send(AdoptPartitions {
            parts: vec![1],
            seeds: seeds.collect(),
        })
        .await;
    }

    /// The network says that the recipient of so many messages is there, and their partition comes this long after; the clock is
    /// paused then.
    async fn adopt_after_alert(&self, count: usize, pause: Duration) -> Vec<Message> {
        let messages = self.store(count, 0).await;
        self.credit(10).await;
        tokio::time::pause();
        self.alert().await;
        tokio::time::advance(pause).await;
        assert!(lock(&self.got).is_empty());
        self.adopt(&messages).await;
        messages
    }

    /// Waits on the paused clock until the session has these messages, which are due much later.
    async fn gets(&self, messages: &[Message]) {
        until("the messages that are due in an hour", || {
            lock(&self.got).len() >= messages.len()
        })
        .await;
        let ids: Vec<u64> = messages.iter().map(|message| message.id).collect();
        assert_eq!(*lock(&self.got), ids);
    }
}

fn with_pauses_of_an_hour(config: &mut Config) {
    config.retry.delays = vec![Duration::from_secs(3_600)];
}

#[actix::test]
async fn who_was_there_before_its_partition_is_adopted_gets_its_messages_then() {
    let fixture = fixture_with(with_pauses_of_an_hour).await;
    let pause = Duration::from_secs(50);
    let messages = fixture.adopt_after_alert(3, pause).await;
    fixture.gets(&messages).await;
}

#[actix::test]
async fn where_a_take_over_takes_longer_it_is_remembered_for_longer() {
    let fixture = fixture_with(|config| {
        with_pauses_of_an_hour(config);
        config.cluster.lease = Duration::from_secs(120);
    })
    .await;
    let pause = Duration::from_secs(200);
    let messages = fixture.adopt_after_alert(1, pause).await;
    fixture.gets(&messages).await;
}

#[actix::test]
async fn what_comes_long_after_its_subscriber_was_there_waits_until_it_is_due() {
    let fixture = fixture_with(with_pauses_of_an_hour).await;
    let pause = Duration::from_secs(600);
    let messages = fixture.adopt_after_alert(1, pause).await;
    for _ in 0..20 {
        tokio::time::sleep(TICK).await;
        test_support::give_way();
    }
    assert!(lock(&fixture.got).is_empty());
    // The next time the network says so, it is known.
    fixture.alert().await;
    fixture.gets(&messages).await;
}
