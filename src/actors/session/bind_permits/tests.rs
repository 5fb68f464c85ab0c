//! Permits from a store that answers late or fails: none is lost, and each bind has one in the end.

use super::*;
use crate::actors::cluster::tests::Shelf;
use crate::actors::test_support::{self, TestNode};

/// A node whose account may have two binds.
struct Fixture {
    shelf: Arc<Shelf>,
    node: TestNode,
    account: Arc<AccountPlan>,
}

async fn fixture() -> Fixture {
    let shelf: Arc<Shelf> = Arc::default();
    let cluster = Arc::<Shelf>::clone(&shelf);
    let node = test_support::node_with(1, Some(cluster), |config| {
        config.account[0].max_binds = 2;
    });
    let node = node.await;
    tokio::time::pause();
    let hour = Duration::from_secs(3600);
    node.context.local_lease.renew(Instant::now() + hour);
    let plan = node.context.plan();
    let account = plan.account_by_id(node.account).expect("an account");
    Fixture {
        account: Arc::clone(account),
        shelf,
        node,
    }
}

impl Fixture {
    async fn admit(&self) -> Result<KeptPermit, ()> {
        let node = &self.node.context;
        let session = node.binds.next_session();
        node.binds.add(BindPort::new(session, None));
        let admitted = admit(node, session, &self.account).await;
        // Of the bind counts the permit alone.
        node.binds.remove(session);
        admitted
    }

    /// What the session does at each tick, until so much time has passed.
    async fn keep(&self, kept: &mut KeptPermit, time: Duration) {
        let began = Instant::now();
        while began.elapsed() < time {
            tokio::time::sleep(LOOK).await;
            kept.keep(&self.node.context, &self.account, Instant::now());
        }
    }

    fn taken(&self) -> usize {
        self.shelf.permits.taken()
    }
}

/// Enough for what is under way.
async fn a_moment() {
    tokio::time::sleep(STORE).await;
}

#[actix::test]
async fn a_permit_that_comes_when_the_bind_is_gone_is_given_back() {
    let fixture = fixture().await;
    fixture.shelf.permits.keep_back();
    for _ in 0..2 {
        let admitted = fixture.admit().await;
        assert!(admitted.is_ok(), "this node has room");
    }
    assert_eq!(fixture.taken(), 2, "nobody was told of them");
    fixture.shelf.permits.let_go();
    a_moment().await;
    assert_eq!(fixture.taken(), 0);
    assert!(fixture.admit().await.is_ok());
}

#[actix::test]
async fn a_permit_that_comes_late_is_the_binds() {
    let fixture = fixture().await;
    fixture.shelf.permits.keep_back();
    let mut kept = fixture.admit().await.expect("admitted");
    fixture.keep(&mut kept, ASK_AGAIN * 3).await;
    assert_eq!(fixture.shelf.permits.asked(), 1, "that is under way");
    fixture.shelf.permits.let_go();
    fixture.keep(&mut kept, ASK_AGAIN * 3).await;
    let permits = &fixture.shelf.permits;
    assert_eq!((permits.taken(), permits.asked()), (1, 1));
    drop(kept);
    assert_eq!(fixture.taken(), 0);
}

#[actix::test]
async fn a_bind_whose_permit_was_refused_asks_again_now_and_then() {
    let fixture = fixture().await;
    fixture.shelf.permits.fail(true);
    let mut kept = fixture.admit().await.expect("admitted");
    fixture.keep(&mut kept, ASK_AGAIN * 10).await;
    let asked = fixture.shelf.permits.asked();
    assert!((7..=14).contains(&asked), "{asked} times");
    fixture.shelf.permits.fail(false);
    fixture.keep(&mut kept, ASK_AGAIN * 2).await;
    assert_eq!(fixture.taken(), 1);
    // One that is over asks no more.
    kept = KeptPermit::default();
    fixture.keep(&mut kept, ASK_AGAIN * 2).await;
    assert_eq!(fixture.taken(), 0);
}

#[actix::test]
async fn a_permit_lasts_as_long_as_the_membership_of_its_node() {
    let fixture = fixture().await;
    let mut kept = fixture.admit().await.expect("admitted");
    let lease = &fixture.node.context.local_lease;
    // It stands back, and goes on under the same membership.
    lease.lose_everything();
    fixture.keep(&mut kept, ASK_AGAIN).await;
    lease.renew(Instant::now() + Duration::from_secs(3600));
    fixture.keep(&mut kept, ASK_AGAIN).await;
    let permits = &fixture.shelf.permits;
    assert_eq!(
        (permits.taken(), permits.asked()),
        (1, 1),
        "it has it still"
    );
    // Others have taken it for dead, and it joins again.
    lease.lose_everything();
    permits.rejoin();
    fixture.keep(&mut kept, ASK_AGAIN).await;
    assert_eq!(permits.taken(), 0, "without a lease it has no right to ask");
    lease.renew(Instant::now() + Duration::from_secs(3600));
    fixture.keep(&mut kept, LOOK * 4).await;
    assert_eq!((permits.taken(), permits.asked()), (1, 2), "counted anew");
    drop(kept);
    assert_eq!(permits.taken(), 0);
}
