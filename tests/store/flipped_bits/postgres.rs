//! Flipped bits in the files of a PostgreSQL without checksums of its own. A flip in what it knows about a row, instead of in what
//! the row says, can make the row invisible: only its own checksums tell that, so such flips are counted and no more.

use smsc::pb::EarlyKind;
use smsc::store::postgres::{PgOptions, PgStore, migrate};
use smsc::store::sinks::{ENDED, SinkStore as _, Wants, bit};

use super::*;
use crate::harness::PrivatePostgres;

const TABLES: [&str; 6] = ["msg", "sent", "fin", "change", "parked", "outbox"];

fn open(server: &PrivatePostgres) -> Result<PgStore, String> {
    let options = PgOptions {
        standalone: true,
        ..PgOptions::new(server.url())
    };
    PgStore::open(options).map_err(|error| error.to_string())
}

fn read_all(server: &PrivatePostgres) -> (Result<StoreContent, String>, Vec<DamagedRow>) {
    match open(server) {
        Err(error) => (Err(error), Vec::new()),
        Ok(store) => (read(&store), store.take_damage()),
    }
}

#[test]
fn no_message_of_a_database_becomes_another() {
    let mut server = PrivatePostgres::start();
    server.set("autovacuum", "off");
    migrate(&PgOptions::new(server.url())).expect("migrates");
    let store = open(&server).expect("opens");
    store.write_for_sinks(vec![Wants {
        reader: SINK,
        kinds: ENDED | bit(EarlyKind::Accepted),
    }]);
    fill(&store);
    drop(store);
    let (before, noted) = read_all(&server);
    let before = before.expect("reads");
    assert_eq!(before.messages.len() as u64, MESSAGES);
    assert!(before.events.len() as u64 > MESSAGES);
    assert!(noted.is_empty());
    let tables: Vec<String> = TABLES
        .iter()
        .flat_map(|table| {
            let sql = format!("SELECT DISTINCT tableoid::regclass::text FROM {table}");
            server.rows(&sql)
        })
        .map(|row| row.get(0))
        .collect();
    let flips = given("SMSC_FLIPS").unwrap_or(FLIPS) / 20;
    // A flip can hide a row from those who read the table, or from those who come by its index.
    let count = |server: &PrivatePostgres, table: &str| {
        ["enable_indexscan = off", "enable_seqscan = off"]
            .map(|way| server.number(way, &format!("SELECT count(*) FROM {table}")))
    };
    let rows: Vec<_> = tables.iter().map(|table| count(&server, table)).collect();
    let (mut dice, mut all, mut gone) = (dice(), FlipCounts::default(), 0);
    for number in 0..flips {
        let at = number as usize % tables.len();
        let table = &tables[at];
        let mut place = (0, 0);
        let mut whole = Vec::new();
        server.change_file(table, |octets| {
            whole = octets.clone();
            place = anywhere(&mut dice, octets);
            octets[place.0] ^= 1 << place.1;
        });
        let (after, noted) = read_all(&server);
        let place = format!("bit {} of octet {} of {table}", place.1, place.0);
        let found = count(&server, table);
        let is_gone = (found.iter().zip(&rows[at])).any(|(now, was)| now.is_some() && now < was);
        if is_gone {
            gone += 1;
        } else {
            // No command looks through a database.
            all.count(&place, &before, after, &noted, || true);
        }
        server.change_file(table, |octets| *octets = whole);
        if is_gone {
            // Indexes have forgotten such a row.
            server.execute(&format!("REINDEX TABLE {table}"));
        }
    }
    println!("{flips} flips in files of PostgreSQL: {all:?}, rows gone by {gone}");
}
