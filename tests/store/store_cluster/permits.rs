//! The binds of an account, counted over all nodes.

use super::*;

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
