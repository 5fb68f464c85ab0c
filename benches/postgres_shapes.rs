//! What messages cost PostgreSQL in other shapes than today's: a spike, nothing that the SMSC uses.
//!
//! `cargo bench --bench postgres_shapes -- URL [messages] [rows of each table per commit] [lanes] [rounds]`, with the URL of
//! an empty database. Every lane is a connection; each of its transactions has the rows of a commit in the
//! middle of a run: so many messages accepted, so many others sent, final, told. Shapes, in turns:
//!
//! - `rows`: an INSERT of arrays into each of the four tables, as today
//! - `copy msg`: accepted messages by COPY BINARY, the others as today
//! - `copy all`: sent and told by COPY BINARY, too, without their ON CONFLICT
//! - `journal`: one row with the octets of all of them for each commit and lane
//! - `journal, ended`: the same, and one row in each message's life that can be looked up by its id
//!
//! Prints messages a second, CPU seconds of the server and octets of its log.

use std::future::Future;
use std::pin::pin;
use std::time::Instant;

use bytes::Bytes;
use futures_util::future::join_all;
use prost::Message as _;
use smsc::pb::Message;
use smsc::store::postgres::{PgOptions, migrate};
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls, Statement};

/// The scheduler's tick, in which /proc counts CPU time.
const TICKS_PER_SECOND: f64 = 100.0;

const MSG: &str = "INSERT INTO msg(id, at, sender, queue, part, priority, due_at, expires_at, source, destination, \
    numbering, payload_kind, body) SELECT i, i >> 20, 1, 2, (i & 63)::smallint, 0, 0, (i >> 20) + 86400000, \
    'SENDER', d, 5, 1, b FROM unnest($1::bigint[], $2::text[], $3::bytea[]) u(i, d, b)";
const SENT: &str = "INSERT INTO sent(id, attempt, at, operator, status, operator_message_id, latency_ms, correlation, bind) \
    SELECT i, 1, i >> 20, 2, 0, m, 3, hashtextextended(m, 0), 0 FROM unnest($1::bigint[], $2::text[]) u(i, m) \
    ON CONFLICT DO NOTHING RETURNING id";
const FIN: &str = "INSERT INTO fin(id, at, state, error, operator, tell, done_at) \
    SELECT i, i >> 20, 2, '000', 2, 1, 0 FROM unnest($1::bigint[]) u(i) ON CONFLICT DO NOTHING RETURNING id";
const TOLD: &str = "INSERT INTO told(id) SELECT * FROM unnest($1::bigint[]) ON CONFLICT DO NOTHING";
const COPY_MSG: &str = "COPY msg(id, at, sender, queue, part, priority, due_at, expires_at, source, destination, \
    numbering, payload_kind, body) FROM STDIN BINARY";
const COPY_SENT: &str = "COPY sent(id, attempt, at, operator, status, operator_message_id, latency_ms, correlation, bind) \
    FROM STDIN BINARY";
const COPY_TOLD: &str = "COPY told(id) FROM STDIN BINARY";
const JOURNAL: &str = "INSERT INTO journal(lane, octets) VALUES($1, $2)";
const ENDED: &str = "INSERT INTO ended(id, destination, octets) SELECT * FROM \
    unnest($1::bigint[], $2::text[], $3::bytea[]) ON CONFLICT DO NOTHING RETURNING id";
const TABLES: &str = "CREATE TABLE IF NOT EXISTS journal(row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
      lane int NOT NULL, octets bytea NOT NULL);
    CREATE TABLE IF NOT EXISTS ended(id bigint PRIMARY KEY, destination text NOT NULL, octets bytea NOT NULL);
    ALTER TABLE journal ALTER octets SET STORAGE EXTERNAL; ALTER TABLE ended ALTER octets SET STORAGE MAIN";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Rows,
    CopyMsg,
    CopyAll,
    Journal,
    JournalEnded,
}

const SHAPES: [(Shape, &str); 5] = [
    (Shape::Rows, "rows"),
    (Shape::CopyMsg, "copy msg"),
    (Shape::CopyAll, "copy all"),
    (Shape::Journal, "journal"),
    (Shape::JournalEnded, "journal, ended"),
];

/// The messages of one commit.
#[derive(Default, Clone)]
struct Rows {
    ids: Vec<i64>,
    destinations: Vec<String>,
    bodies: Vec<Vec<u8>>,
    theirs: Vec<String>,
}

struct Lane {
    number: i32,
    client: Client,
    insert: [Statement; 6],
    copy: [Statement; 3],
}

#[tokio::main]
async fn main() {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let Some(url) = words.next() else {
        eprintln!(
            "usage: cargo bench --bench postgres_shapes -- URL [messages] [rows] [lanes] [rounds]"
        );
        return;
    };
    let mut numbers = words.filter_map(|word| word.parse::<i64>().ok());
    let messages = numbers.next().unwrap_or(400_000);
    let rows = numbers.next().unwrap_or(128);
    let lanes = numbers.next().unwrap_or(2);
    let rounds = numbers.next().unwrap_or(3);
    let options = PgOptions::new(url.clone());
    let migrated = tokio::task::spawn_blocking(move || migrate(&options));
    migrated
        .await
        .expect("it runs")
        .expect("the database answers");
    let watcher = connect(&url).await;
    watcher.batch_execute(TABLES).await.expect("its own tables");
    println!("{messages} messages, {rows} rows of each kind per commit, {lanes} lanes");
    let mut next = smsc::clock::now_ms() << 20;
    for _ in 0..rounds {
        for (shape, name) in SHAPES {
            let mut all = Vec::new();
            for number in 0..lanes {
                all.push(Lane::new(number as i32, connect(&url).await).await);
            }
            watcher
                .batch_execute("CHECKPOINT")
                .await
                .expect("a superuser");
            let (started, cpu, log) = (
                Instant::now(),
                cpu_seconds(&watcher).await,
                written(&watcher).await,
            );
            let commits = messages / rows / lanes;
            let each = all.iter().map(|lane| {
                let first = next + i64::from(lane.number) * messages;
                lane.run(shape, first, rows, commits)
            });
            join_all(each).await;
            let took = started.elapsed().as_secs_f64();
            let done = (commits * rows * lanes) as f64;
            println!(
                "{name:15} {:8.0} messages/s, {:.2} CPU s of the server per 100,000, {:.0} octets of log each",
                done / took,
                (cpu_seconds(&watcher).await - cpu) * 1e5 / done,
                (written(&watcher).await - log) as f64 / done,
            );
            next += messages * lanes;
        }
    }
}

// === impl Lane ===

impl Lane {
    async fn new(number: i32, client: Client) -> Self {
        let mut insert = Vec::new();
        for sql in [MSG, SENT, FIN, TOLD, JOURNAL, ENDED] {
            insert.push(client.prepare(sql).await.expect("valid SQL"));
        }
        let mut copy = Vec::new();
        for sql in [COPY_MSG, COPY_SENT, COPY_TOLD] {
            copy.push(client.prepare(sql).await.expect("valid SQL"));
        }
        Self {
            number,
            client,
            insert: insert.try_into().expect("six"),
            copy: copy.try_into().expect("three"),
        }
    }

    /// Messages of a commit are sent in the next one, final in the one after it, and told in the fourth.
    async fn run(&self, shape: Shape, first: i64, rows: i64, commits: i64) {
        let mut steps: [Rows; 4] = Default::default();
        for commit in 0..commits + 3 {
            steps.rotate_right(1);
            steps[0] = if commit < commits {
                Rows::new(first + commit * rows, rows)
            } else {
                Rows::default()
            };
            self.commit(shape, &steps).await;
        }
    }

    async fn commit(&self, shape: Shape, steps: &[Rows; 4]) {
        let [accepted, sent, ended, told] = steps;
        match shape {
            Shape::Rows => {
                self.pipeline(&[
                    (
                        0,
                        &[&accepted.ids, &accepted.destinations, &accepted.bodies],
                    ),
                    (1, &[&sent.ids, &sent.theirs]),
                    (2, &[&ended.ids]),
                    (3, &[&told.ids]),
                ])
                .await;
            }
            Shape::CopyMsg | Shape::CopyAll => {
                self.client.batch_execute("BEGIN").await.expect("connected");
                self.copy_msg(accepted).await;
                let told_ids: &[&(dyn ToSql + Sync)] = &[&told.ids];
                if shape == Shape::CopyAll {
                    self.copy_sent(sent).await;
                    self.copy_told(told).await;
                } else {
                    self.execute(1, &[&sent.ids, &sent.theirs]).await;
                    self.execute(3, told_ids).await;
                }
                self.execute(2, &[&ended.ids]).await;
                self.client
                    .batch_execute("COMMIT")
                    .await
                    .expect("connected");
            }
            Shape::Journal => {
                let octets = journal(steps);
                self.pipeline(&[(4, &[&self.number, &octets])]).await;
            }
            Shape::JournalEnded => {
                let octets = journal(steps);
                self.pipeline(&[
                    (4, &[&self.number, &octets]),
                    (5, &[&told.ids, &told.destinations, &told.bodies]),
                ])
                .await;
            }
        }
    }

    /// All statements in one write, as the store does it.
    async fn pipeline(&self, statements: &[(usize, &[&(dyn ToSql + Sync)])]) {
        let begin = async { self.client.batch_execute("BEGIN").await };
        let commit = async { self.client.batch_execute("COMMIT").await };
        let work = join_all(
            statements
                .iter()
                .map(|(at, values)| self.client.query(&self.insert[*at], values)),
        );
        let (begin, work, commit) = in_order(begin, work, commit).await;
        begin.expect("connected");
        work.into_iter()
            .for_each(|rows| drop(rows.expect("rows are new")));
        commit.expect("connected");
    }

    async fn execute(&self, at: usize, values: &[&(dyn ToSql + Sync)]) {
        self.client
            .query(&self.insert[at], values)
            .await
            .expect("rows are new");
    }

    async fn copy_msg(&self, rows: &Rows) {
        const TYPES: [Type; 13] = [
            Type::INT8,
            Type::INT8,
            Type::INT4,
            Type::INT4,
            Type::INT2,
            Type::INT4,
            Type::INT8,
            Type::INT8,
            Type::TEXT,
            Type::TEXT,
            Type::INT4,
            Type::INT2,
            Type::BYTEA,
        ];
        let sink = self.client.copy_in(&self.copy[0]).await.expect("connected");
        let mut writer = pin!(BinaryCopyInWriter::new(sink, &TYPES));
        for ((id, destination), body) in rows.ids.iter().zip(&rows.destinations).zip(&rows.bodies) {
            let at = id >> 20;
            let row: [&(dyn ToSql + Sync); 13] = [
                id,
                &at,
                &1_i32,
                &2_i32,
                &((id & 63) as i16),
                &0_i32,
                &0_i64,
                &(at + 86_400_000),
                &"SENDER",
                destination,
                &5_i32,
                &1_i16,
                body,
            ];
            writer.as_mut().write(&row).await.expect("connected");
        }
        writer.finish().await.expect("rows are new");
    }

    async fn copy_sent(&self, rows: &Rows) {
        const TYPES: [Type; 9] = [
            Type::INT8,
            Type::INT4,
            Type::INT8,
            Type::INT4,
            Type::INT4,
            Type::TEXT,
            Type::INT4,
            Type::INT8,
            Type::INT8,
        ];
        let sink = self.client.copy_in(&self.copy[1]).await.expect("connected");
        let mut writer = pin!(BinaryCopyInWriter::new(sink, &TYPES));
        for (id, theirs) in rows.ids.iter().zip(&rows.theirs) {
            let correlation = id.wrapping_mul(0x9E37_79B9_7F4A);
            let row: [&(dyn ToSql + Sync); 9] = [
                id,
                &1_i32,
                &(id >> 20),
                &2_i32,
                &0_i32,
                theirs,
                &3_i32,
                &correlation,
                &0_i64,
            ];
            writer.as_mut().write(&row).await.expect("connected");
        }
        writer.finish().await.expect("rows are new");
    }

    async fn copy_told(&self, rows: &Rows) {
        let sink = self.client.copy_in(&self.copy[2]).await.expect("connected");
        let mut writer = pin!(BinaryCopyInWriter::new(sink, &[Type::INT8]));
        for id in &rows.ids {
            writer.as_mut().write(&[id]).await.expect("connected");
        }
        writer.finish().await.expect("rows are new");
    }
}

// === impl Rows ===

impl Rows {
    fn new(first: i64, count: i64) -> Self {
        let template = Message {
            registered_delivery: 1,
            data_coding: 0,
            short_message: Bytes::from_static(&[b'x'; 60]),
            ..Message::default()
        };
        let body = template.encode_to_vec();
        let ids = first..first + count;
        Self {
            destinations: ids
                .clone()
                .map(|id| format!("4179{:07}", id.wrapping_mul(7_919) % 10_000_000))
                .collect(),
            theirs: ids
                .clone()
                .map(|id| format!("{:016x}", id.wrapping_mul(0x9E37_79B9_7F4A)))
                .collect(),
            bodies: vec![body; count as usize],
            ids: ids.collect(),
        }
    }
}

/// What a commit's rows are as octets, without the care that a format would need.
fn journal(steps: &[Rows; 4]) -> Vec<u8> {
    let mut octets = Vec::new();
    let [accepted, sent, ended, told] = steps;
    for ((id, destination), body) in accepted
        .ids
        .iter()
        .zip(&accepted.destinations)
        .zip(&accepted.bodies)
    {
        octets.extend_from_slice(&id.to_le_bytes());
        octets.extend_from_slice(&[0; 24]);
        octets.extend_from_slice(destination.as_bytes());
        octets.extend_from_slice(body);
    }
    for (id, theirs) in sent.ids.iter().zip(&sent.theirs) {
        octets.extend_from_slice(&id.to_le_bytes());
        octets.extend_from_slice(&[0; 16]);
        octets.extend_from_slice(theirs.as_bytes());
    }
    for id in &ended.ids {
        octets.extend_from_slice(&id.to_le_bytes());
        octets.extend_from_slice(&[0; 12]);
    }
    told.ids
        .iter()
        .for_each(|id| octets.extend_from_slice(&id.to_le_bytes()));
    octets
}

/// Polled in this order, so sent in this order.
async fn in_order<A: Future, B: Future, C: Future>(
    a: A,
    b: B,
    c: C,
) -> (A::Output, B::Output, C::Output) {
    tokio::join!(biased; a, b, c)
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls)
        .await
        .expect("the server answers");
    tokio::spawn(connection);
    client
}

/// Of all processes of the server that run now.
async fn cpu_seconds(watcher: &Client) -> f64 {
    let rows = watcher
        .query("SELECT pid FROM pg_stat_activity", &[])
        .await
        .expect("connected");
    let of = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        let fields = after_name.split_whitespace().skip(11).take(2);
        fields
            .filter_map(|ticks| ticks.parse::<f64>().ok())
            .sum::<f64>()
    };
    rows.iter().map(|row| of(row.get(0))).sum::<f64>() / TICKS_PER_SECOND
}

/// Octets of log so far.
async fn written(watcher: &Client) -> i64 {
    let row = watcher
        .query_one("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint", &[])
        .await;
    row.expect("connected").get(0)
}
