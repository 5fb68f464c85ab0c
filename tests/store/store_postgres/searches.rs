//! Searches of administrators have connections of their own: what messages and nodes need is read beside them.

use std::time::Duration;

use smsc::store::access::AccessStore as _;
use smsc::store::held::HeldStore as _;
use smsc::store::outbox::OutboxStore as _;
use smsc::store::settings::SettingsStore as _;
use smsc::store::{FoundMessages, Reply, Search, Store as _, StoreError};

use super::{Database, accept, id, open};
use crate::harness::until;

/// Longer than the test.
const HANG: Duration = Duration::from_secs(600);

#[test]
fn searches_that_hang_take_no_connection_of_messages_and_nodes() {
    let database = Database::migrated();
    let store = open(&database, |options| {
        options.statement_timeout = HANG;
        options.lock_timeout = HANG;
        options.admin_readers = 2;
    });
    let ids = [1, 2].map(id);
    store.write(accept(&ids)).wait().unwrap();
    let block = b"ids".to_vec();
    store.spill_block(7, 1, block.clone()).wait().unwrap();

    // Searches read this table, and nothing on the way of a message does.
    let lock = database.hold("LOCK TABLE ids_aside IN ACCESS EXCLUSIVE MODE");
    let search = || {
        store.search(Search {
            limit: 10,
            ..Search::default()
        })
    };
    let under_way: Vec<Reply<FoundMessages>> = (0..8).map(|_| search()).collect();
    until("as many searches as may be", || {
        let waiting = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
             WHERE d.datname = current_database() AND l.relation = 'ids_aside'::regclass AND NOT l.granted";
        (database.query(waiting) == ["2"]).then_some(())
    });

    let loaded = store.load(ids.to_vec()).wait().unwrap();
    assert!(loaded.iter().all(Option::is_some), "{loaded:?}");
    assert!(store.history(ids[0]).wait().unwrap().is_some());
    assert_eq!(store.read_block(7, 1).wait(), Ok(Some(block)));
    // A cancellation looks whether its message is held.
    assert_eq!(store.held(ids[0] - 1, 1).wait(), Ok(Vec::new()));
    assert_eq!(store.settings_version().wait(), Ok(0));
    assert_eq!(store.tokens().wait(), Ok(Vec::new()));
    assert_eq!(store.backlog().wait(), Ok(Vec::new()));
    store.write(accept(&[id(3)])).wait().unwrap();

    let refused = search().wait();
    let is_busy = |error: &StoreError| error.to_string().contains("postgres.admin_readers");
    assert!(refused.as_ref().is_err_and(is_busy), "{refused:?}");
    lock.commit();
    let answers = under_way.into_iter().map(Reply::wait);
    let found = answers.filter(Result::is_ok).count();
    assert_eq!(found, 2, "the others were refused before");
}
