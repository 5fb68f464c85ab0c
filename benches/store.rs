//! How fast the embedded store is: whole life cycles, paging a backlog back in, recovery.
//!
//! `cargo bench --bench store [-- messages outstanding batch]`. One driver thread keeps `outstanding`
//! messages in flight; each batch goes accept → sent → fin → told, and the next step is taken when
//! the one before is durable. Prints life cycles per second and CPU seconds per 100,000 messages,
//! the driver's own share included.
//!
//! `cargo bench --bench store -- tail [seconds]` commits 300 rows a hundred times a second, and says how
//! long commits take: half of them, 99 of 100, the longest.

use std::collections::VecDeque;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use smsc::pb::{Message, MessageState};
use smsc::store::sqlite::{SqliteOptions, SqliteStore};
use smsc::store::{FinRow, MessageStage, SentRow, Store, Ticket, WriteBatch};

/// The scheduler's tick, in which /proc counts CPU time.
const TICKS_PER_SECOND: f64 = 100.0;

/// Messages that go through their lives together.
#[derive(Clone, Copy)]
struct Lane {
    first: u64,
    count: u64,
    step: u8,
}

fn main() {
    if std::env::args().any(|word| word == "tail") {
        let seconds = std::env::args().find_map(|word| word.parse().ok());
        return tail(seconds.unwrap_or(20));
    }
    let mut numbers = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse().ok());
    let messages: u64 = numbers.next().unwrap_or(400_000);
    let asked: Option<u64> = numbers.next();
    let batch: Option<u64> = numbers.next();
    let shapes = match (asked, batch) {
        (Some(outstanding), batch) => vec![(outstanding, batch.unwrap_or(32))],
        _ => vec![(256, 32), (1024, 64), (4096, 256), (1024, 64)],
    };
    for (outstanding, batch) in shapes {
        life_cycles(messages, outstanding, batch);
    }
    backlog(messages.max(1_000_000));
}

fn open(folder: &std::path::Path) -> SqliteStore {
    let pages: Option<u32> = std::env::var("WAL_PAGES")
        .ok()
        .and_then(|pages| pages.parse().ok());
    let search_index = std::env::var_os("NO_INDEX").is_none();
    SqliteStore::open(SqliteOptions {
        wal_autocheckpoint: pages.unwrap_or(1000),
        search_index,
        ..SqliteOptions::new(folder)
    })
    .expect("the folder is writable")
}

fn life_cycles(messages: u64, outstanding: u64, batch: u64) {
    let folder = tempfile::tempdir_in(".").expect("a folder beside the sources");
    let store = open(folder.path());
    let mut next = smsc::clock::now_ms() as u64 * (1 << 20);
    let end = next + messages;
    let (started, cpu) = (Instant::now(), cpu_seconds());
    let mut lanes = VecDeque::new();
    for _ in 0..outstanding.div_ceil(batch) {
        lanes.push_back(submit(&store, next, batch));
        next += batch;
    }
    while let Some((lane, ticket)) = lanes.pop_front() {
        ticket.wait().expect("the disk has room");
        if lane.step < 3 {
            lanes.push_back(advance(&store, lane));
        } else if next < end {
            lanes.push_back(submit(&store, next, batch));
            next += batch;
        }
    }
    let took = started.elapsed().as_secs_f64();
    let cpu = cpu_seconds() - cpu;
    let stats = store.stats();
    println!(
        "outstanding {outstanding:5} batch {batch:4}: {:8.0} life cycles/s, {:.3} CPU s per 100k, \
         {:.0} rows per commit, {:.2} ms per commit",
        messages as f64 / took,
        cpu / messages as f64 * 1e5,
        stats.rows as f64 / stats.commits as f64,
        stats.commit_seconds * 1e3 / stats.commits as f64,
    );
}

/// The time of small commits at a steady rate, from the call to the answer.
fn tail(seconds: u64) {
    const ROWS: u64 = 100;
    const EVERY: Duration = Duration::from_millis(10);
    let folder = tempfile::tempdir_in(".").expect("a folder beside the sources");
    let store = open(folder.path());
    let (asked, answers) = mpsc::sync_channel::<(Instant, Vec<Ticket>)>(1024);
    let waiter = std::thread::spawn(move || {
        let mut took = Vec::new();
        for (at, tickets) in answers {
            for ticket in tickets {
                ticket.wait().expect("the disk has room");
            }
            took.push(at.elapsed());
        }
        took.sort_unstable();
        took
    });
    let mut next = smsc::clock::now_ms() as u64 * (1 << 20);
    let mut lanes = VecDeque::new();
    let started = Instant::now();
    for turn in 0..seconds * 100 {
        let due = started + EVERY * turn as u32;
        #[allow(
            clippy::disallowed_methods,
            reason = "the bench has its thread to itself"
        )]
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let at = Instant::now();
        // Accepted, sent and final: a hundred rows each of messages of three turns.
        let mut tickets = Vec::new();
        for _ in 0..lanes.len() {
            if let Some(lane) = lanes.pop_front() {
                let (lane, ticket) = advance(&store, lane);
                tickets.push(ticket);
                if lane.step < 2 {
                    lanes.push_back(lane);
                }
            }
        }
        let (lane, ticket) = submit(&store, next, ROWS);
        tickets.push(ticket);
        lanes.push_back(lane);
        next += ROWS;
        asked.send((at, tickets)).expect("the waiter runs");
    }
    drop(asked);
    let took = waiter.join().expect("every commit was answered");
    let of = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "commits {}: {:.2} ms half, {:.2} ms 99 of 100, {:.2} ms the longest",
        took.len(),
        of(0.5),
        of(0.99),
        of(1.0)
    );
}

/// Fills a backlog, then pages it back in and recovers it.
fn backlog(messages: u64) {
    let folder = tempfile::tempdir_in(".").expect("a folder beside the sources");
    let store = open(folder.path());
    let first = smsc::clock::now_ms() as u64 * (1 << 20);
    let mut tickets = VecDeque::new();
    for start in (0..messages).step_by(1000) {
        let (lane, ticket) = submit(&store, first + start, 1000);
        tickets.push_back(ticket);
        if start % 2000 == 0 {
            tickets.push_back(advance(&store, lane).1);
        }
        while tickets.len() > 8 {
            tickets.pop_front().map(Ticket::wait);
        }
    }
    tickets.into_iter().for_each(|ticket| drop(ticket.wait()));
    for round in 0..2 {
        let (started, cpu) = (Instant::now(), cpu_seconds());
        let (mut waiting, mut sent) = (0u64, 0u64);
        store
            .recover(None, &mut |active| match active.stage {
                MessageStage::Sent { .. } => sent += 1,
                _ => waiting += 1,
            })
            .expect("recovery reads");
        println!(
            "recover {round}: {waiting} waiting, {sent} sent in {:.3} s ({:.2} CPU s)",
            started.elapsed().as_secs_f64(),
            cpu_seconds() - cpu
        );
    }
    for stride in [1, 10] {
        let (started, cpu) = (Instant::now(), cpu_seconds());
        let ids: Vec<u64> = (0..messages).step_by(stride).map(|n| first + n).collect();
        for page in ids.chunks(1024) {
            let found = store.load(page.to_vec()).wait().expect("pages load");
            assert!(found.iter().all(Option::is_some));
        }
        println!(
            "load every {stride}th: {:.2} us per message, {:.2} us of CPU",
            started.elapsed().as_secs_f64() * 1e6 / ids.len() as f64,
            (cpu_seconds() - cpu) * 1e6 / ids.len() as f64
        );
    }
    let rows = (0..messages).filter(|n| n % 10 != 0).map(|n| FinRow {
        done_at: 0,
        id: first + n,
        at: (first >> 20) as i64,
        state: MessageState::Delivered,
        error: Bytes::new(),
        operator: 2,
        tell: 0,
        remote_item: Bytes::new(),
        remote_part: 0,
    });
    let rows: Vec<FinRow> = rows.collect();
    for fin in rows.chunks(1000) {
        let batch = WriteBatch {
            fin: fin.to_vec(),
            ..WriteBatch::default()
        };
        store.write(batch).wait().expect("the disk has room");
    }
    for what in ["first", "again"] {
        let started = Instant::now();
        store.advance_low_water().wait().expect("the mark moves");
        let advanced = started.elapsed().as_secs_f64();
        let (started, mut active) = (Instant::now(), 0_u64);
        store
            .recover(None, &mut |_| active += 1)
            .expect("recovery reads");
        println!(
            "low water {what}: {advanced:.3} s, then {active} active found in {:.3} s",
            started.elapsed().as_secs_f64()
        );
    }
    let started = Instant::now();
    let retired = store.retire(i64::MAX, 100_000).wait().expect("retires");
    println!("retire {retired}: {:.3} s", started.elapsed().as_secs_f64());
}

fn submit(store: &SqliteStore, first: u64, count: u64) -> (Lane, Ticket) {
    let at = (first >> 20) as i64;
    let template = Message {
        sender: 1,
        queue: 2,
        accepted_at: at,
        due_at: at,
        expires_at: at + 864_000_000,
        source_ton: 5,
        source: Bytes::from_static(b"SENDER"),
        dest_ton: 1,
        dest_npi: 1,
        registered_delivery: 1,
        short_message: Bytes::from_static(&[b'x'; 60]),
        ..Message::default()
    };
    let accept = (first..first + count)
        .map(|id| Message {
            id,
            destination: Bytes::from(format!("4179{:07}", id.wrapping_mul(7_919) % 10_000_000)),
            ..template.clone()
        })
        .collect();
    let ticket = store.write(WriteBatch {
        accept,
        ..WriteBatch::default()
    });
    (
        Lane {
            first,
            count,
            step: 0,
        },
        ticket,
    )
}

fn advance(store: &SqliteStore, lane: Lane) -> (Lane, Ticket) {
    let ids = lane.first..lane.first + lane.count;
    let at = (lane.first >> 20) as i64 + 5;
    let mut batch = WriteBatch::default();
    match lane.step {
        0 => batch.sent.extend(ids.map(|id| SentRow {
            id,
            attempt: 1,
            at,
            operator: 2,
            status: 0,
            operator_message_id: Bytes::from(format!("{:016x}", id.wrapping_mul(0x9E37_79B9_7F4A))),
            latency_ms: 3,
            correlation: 0,
            bind: 0,
            known_as: None,
        })),
        1 => batch.fin.extend(ids.map(|id| FinRow {
            done_at: 0,
            id,
            at,
            state: MessageState::Delivered,
            error: Bytes::from_static(b"000"),
            operator: 2,
            tell: 1,
            remote_item: Bytes::new(),
            remote_part: 0,
        })),
        _ => batch.told.extend(ids),
    }
    let lane = Lane {
        step: lane.step + 1,
        ..lane
    };
    (lane, store.write(batch))
}

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum();
    ticks / TICKS_PER_SECOND
}
