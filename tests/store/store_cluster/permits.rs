//! The binds of an account, counted over all nodes.

use super::database::Session;
use super::*;
use smsc::store::cluster::Permit;

const ACCOUNT: u32 = 7;

#[test]
fn a_permit_ends_with_its_membership_and_is_given_back_once() {
    let database = Database::new();
    let [one, other] = [database.node(), database.node()];
    let take = |node: &Node| node.store.take_bind_permit(ACCOUNT, 2).wait();
    let give = |node: &Node, permit| node.store.give_bind_permit(permit).wait();
    let [old, kept] = [0, 1].map(|number| {
        let permit = take(&one).expect("answers").expect("is free");
        assert_eq!((permit.number, permit.epoch), (number, one.me.epoch));
        permit
    });
    assert_eq!(take(&other), Ok(None), "all are taken");
    assert_eq!(give(&other, kept), Ok(()));
    assert_eq!(take(&other), Ok(None), "it was not its own");
    assert_eq!(give(&one, kept), Ok(()));
    assert!(take(&other).is_ok_and(|permit| permit.is_some()));

    assert_eq!(one.store.membership(), Some(one.me));
    let lease = Duration::from_secs(60);
    let again = one
        .store
        .join(NodeCard::default(), lease, Some(one.me.node));
    let again = again.expect("joins again");
    assert_eq!(one.store.membership(), Some(again));
    let new = take(&one).expect("answers").expect("is free");
    assert_eq!((new.number, new.epoch), (old.number, again.epoch));
    // Given back late, it is another bind's already.
    assert_eq!(give(&one, old), Ok(()));
    assert_eq!(take(&other), Ok(None));
    assert_eq!(give(&one, new), Ok(()));
    assert!(take(&other).is_ok_and(|permit| permit.is_some()));
}

#[test]
fn a_permit_whose_commit_is_cut_off_is_nobodys() {
    for (committed, taken_next_by_itself) in
        [(false, false), (true, false), (false, true), (true, true)]
    {
        let database = Database::new();
        let [one, other] = [database.node(), database.node()];
        let take = |node: &Node| node.store.take_bind_permit(ACCOUNT, 1).wait();
        let session = database.session();
        hang_at_commit(&session);
        let cut = one.store.take_bind_permit(ACCOUNT, 1);
        cut_off(&session);
        assert!(cut.wait().is_err());
        if committed {
            // As if the server had committed before the session ended.
            let me = one.me;
            session.run(&format!(
                "INSERT INTO lease(kind, name, part, node, epoch) VALUES(4, {ACCOUNT}, 0, {}, {})
                 ON CONFLICT(kind, name, part) DO UPDATE SET node = excluded.node, epoch = excluded.epoch",
                me.node, me.epoch
            ));
        }
        let next = if taken_next_by_itself { &one } else { &other };
        let permit = until_ok(&session, || take(next));
        assert_eq!(permit.number, 0);
        // Nothing releases it later.
        session.run("SELECT pg_sleep(1.5)");
        assert_eq!(take(&other), Ok(None));
        assert_eq!(next.store.give_bind_permit(permit).wait(), Ok(()));
        assert!(until_ok(&session, || take(&other)).epoch == other.me.epoch);
    }
}

#[test]
fn a_permit_that_could_not_be_given_back_is_given_back_later() {
    for taken_meanwhile in [false, true] {
        let database = Database::new();
        let [one, other] = [database.node(), database.node()];
        let take = |node: &Node| node.store.take_bind_permit(ACCOUNT, 1).wait();
        let permit = take(&one).expect("answers").expect("is free");
        let session = database.session();
        hang_at_commit(&session);
        let given = one.store.give_bind_permit(permit);
        cut_off(&session);
        assert_eq!(given.wait(), Ok(()));
        if taken_meanwhile {
            // Another bind of the node has the same one, which the release that is kept must not take from it.
            let again = until_ok(&session, || take(&one));
            assert_eq!(again, permit);
            session.run("SELECT pg_sleep(1.5)");
            assert_eq!(take(&other), Ok(None));
        } else {
            assert!(until_ok(&session, || take(&other)).epoch == other.me.epoch);
        }
    }
}

/// Commits that take or give a permit wait from now on.
fn hang_at_commit(session: &Session) {
    session.run(
        "CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END';
         CREATE CONSTRAINT TRIGGER hang AFTER UPDATE ON lease DEFERRABLE INITIALLY DEFERRED
           FOR EACH ROW WHEN (NEW.kind = 4) EXECUTE FUNCTION hang();
         SELECT pg_advisory_lock(1)",
    );
}

/// Ends the session that waits in its commit; later ones wait no more.
fn cut_off(session: &Session) {
    let waiting = "FROM pg_stat_activity WHERE datname = current_database()
                   AND wait_event_type = 'Lock' AND wait_event = 'advisory'";
    session.wait_until(&format!("EXISTS(SELECT 1 {waiting})"));
    session.run(&format!(
        "SELECT pg_terminate_backend(pid, 10000) {waiting}"
    ));
    session.run("DROP TRIGGER hang ON lease; SELECT pg_advisory_unlock(1)");
}

/// Other pooled connections may notice only now that they were closed as well, and what is uncertain is settled within
/// seconds.
fn until_ok(
    session: &Session,
    mut take: impl FnMut() -> Result<Option<Permit>, StoreError>,
) -> Permit {
    for _ in 0..3000 {
        if let Ok(Some(permit)) = take() {
            return permit;
        }
        session.run("SELECT pg_sleep(0.01)");
    }
    panic!("never free");
}
