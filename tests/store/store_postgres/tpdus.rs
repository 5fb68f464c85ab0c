//! Messages that came as TPDUs: their kind in the row, and what it means to builds before V26, which cannot read it.

use smsc::pb::PayloadKind;

use super::*;

#[test]
fn the_first_tpdu_closes_the_way_back() {
    let database = Database::migrated();
    let store = open(&database, |_| {});
    let oldest = || database.query("SELECT value FROM meta WHERE key = 'oldest_schema'");
    store.write(accept(&[id(1)])).wait().unwrap();
    assert!(oldest().is_empty(), "builds before V26 may come back");
    for n in 2..4 {
        let mut batch = accept(&[id(n)]);
        batch.accept[0].set_payload_kind(PayloadKind::SmsSubmit);
        store.write(batch).wait().unwrap();
        assert_eq!(oldest(), ["26"]);
    }
    let kinds = database.query("SELECT payload_kind FROM msg ORDER BY id");
    assert_eq!(kinds, ["1", "3", "3"]);
    drop(store);
    assert_eq!(active(&open(&database, |_| {})), [id(1), id(2), id(3)]);
}
