//! The keys of the Redis SMS platform, as a mirror of messages (docs/coming-from.md).
//!
//! Written by `actors/control/export/platform.rs`. One script per batch, so a batch is mirrored whole or not at all;
//! a message whose end was mirrored already is passed over, so that no list has an id twice. Other programs take ids from
//! these lists, and put ids into pending lists (`pending.rs`).
//!
//! An id comes into list:Finish, from which the platform's pump takes it, when its report was forwarded: by us, who know that
//! from the store, or by the platform's forwarder, who takes it from list:report and puts it there itself. Our own keys:
//! `smsc:mirrored` (ids by the time of their message), `smsc:seen:<message>` (stage and id of a message),
//! `smsc:message:<id>` (back from an id), `smsc:submits:<id>` (keys of parts), and ids by where they are:
//! `smsc:forwarding` (ours to forward), `smsc:handed` (the platform's forwarder has it), `smsc:finish` (the pump may take it)
//! and `smsc:taken` (it has).

use std::time::Duration;

use deadpool_redis::redis::{self, FromRedisValue, Script, cmd};
use serde_json::{Map, Value, json};

use super::{Redis, RedisError};

/// What the scripts have in common.
const COMMON: &str = include_str!("platform/common.lua");
/// Notes that messages have ended.
const MIRROR: &str = include_str!("platform/mirror.lua");
/// Notes what has happened to messages before their end.
const BEFORE: &str = include_str!("platform/before.lua");
/// Notes which messages were forwarded.
const FORWARDED: &str = include_str!("platform/forwarded.lua");
/// Removes the keys of ids that the pump has taken.
const PUMPED: &str = include_str!("platform/pumped.lua");
/// Entries of each list and members of each set that one script looks at.
pub const PLATFORM_MOST: usize = 500;
/// The longest list that is searched for an entry.
const SEARCHED: usize = 1_000;
/// An event comes again for this long at most, in milliseconds: two days, the outage of a database that nobody mends.
const REPEATS: i64 = 2 * 86_400_000;
/// Builds without aliases keep ids that programs make by INCR of MT-gid above those made here until the year 2109.
pub const RAISED_GID: u64 = 1 << 62;

/// How messages are mirrored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlatformOptions {
    /// How long keys live; zero for ever.
    pub life: Duration,
    /// The platform's own forwarder takes reports from list:report, and puts ids into list:Finish.
    pub platform_forwards: bool,
    /// Ids are made by INCR of MT-gid; otherwise they are ours, and the counter is kept above them.
    pub aliases: bool,
}

/// What is known of a message that has ended, or of what has happened to it before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlatformRow {
    /// Its id here.
    pub message: u64,
    /// Its id on the platform, where that is known; otherwise it gets one.
    pub id: Option<String>,
    pub is_mo: bool,
    /// When that was, Unix milliseconds.
    pub at: i64,
    /// Of `MT:<id>` or `Mo:<id>`; empty where they are as before.
    pub fields: Vec<(&'static str, String)>,
    /// How the operator that took it names it.
    pub submitted: Option<SubmittedAs>,
    /// How the operator names each of its parts, if it was divided.
    pub parts: Vec<SubmittedAs>,
    /// Why no operator took it.
    pub failed: Option<String>,
    /// Of `Report:<id>`.
    pub report: Option<Vec<(&'static str, String)>>,
    /// Nobody waits for its report any more, or nobody ever did.
    pub is_forwarded: bool,
}

/// The two numbers of `Submit:<seqno>:<ts>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmittedAs {
    pub seqno: String,
    pub ts: String,
}

/// A message that we forward, or whose account hears of its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forwarding {
    /// Its id here.
    pub message: u64,
    /// Its id on the platform.
    pub id: String,
}

// === impl Redis ===

impl Redis {
    /// Mirrors messages that have ended. Returns how many writes a key of another type has made impossible.
    ///
    /// # Errors
    /// See [`RedisError`]; it is not known whether they were mirrored, and they can be again.
    pub async fn mirror(
        &self,
        rows: &[PlatformRow],
        options: PlatformOptions,
        now: i64,
    ) -> Result<u64, RedisError> {
        let rows = rows.iter().map(PlatformRow::json);
        self.run(MIRROR, rows, options, now).await
    }

    /// Mirrors what has happened to messages that have not ended; as [`Self::mirror`].
    ///
    /// # Errors
    /// See [`RedisError`]; it is not known whether it was mirrored, and it can be again.
    pub async fn mirror_before_end(
        &self,
        rows: &[PlatformRow],
        options: PlatformOptions,
        now: i64,
    ) -> Result<u64, RedisError> {
        let rows = rows.iter().map(PlatformRow::json);
        self.run(BEFORE, rows, options, now).await
    }

    /// Up to so many messages that are to be forwarded and are due to be looked at.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn forwarding(&self, now: i64, limit: usize) -> Result<Vec<Forwarding>, RedisError> {
        let mut command = cmd("ZRANGEBYSCORE");
        command.arg("smsc:forwarding").arg("-inf").arg(now);
        command.arg("LIMIT").arg(0).arg(limit);
        let entries: Vec<String> = self.send(command).await?;
        Ok(entries
            .iter()
            .filter_map(|one| Forwarding::read(one))
            .collect())
    }

    /// Gives ids of messages that were forwarded to the pump; the others, each with a time, are looked at again then (Unix
    /// milliseconds). As [`Self::mirror`].
    ///
    /// # Errors
    /// See [`RedisError`]; it is not known whether that was noted, and it can be again.
    pub async fn forwarded(
        &self,
        looked_at: &[(Forwarding, Option<i64>)],
        options: PlatformOptions,
        now: i64,
    ) -> Result<u64, RedisError> {
        let rows = looked_at.iter().map(|(one, again)| {
            let mut row = json!({ "message": one.message.to_string(), "id": one.id });
            if let Some(again) = again {
                row["again"] = (*again).into();
            }
            row
        });
        self.run(FORWARDED, rows, options, now).await
    }

    /// Removes the keys of ids that the pump took so long ago. Returns of how many, and how many writes a key of another
    /// type has made impossible.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn remove_pumped(
        &self,
        after: Duration,
        options: PlatformOptions,
        now: i64,
    ) -> Result<(u64, u64), RedisError> {
        let options = PlatformOptions {
            life: after,
            ..options
        };
        self.run(PUMPED, std::iter::empty(), options, now).await
    }

    /// So many new ids: the last of them, which is so many above the last one before.
    ///
    /// # Errors
    /// See [`RedisError`]; the counter is of another type, or none.
    pub async fn take_platform_ids(&self, count: usize) -> Result<u64, RedisError> {
        let mut command = cmd("INCRBY");
        command.arg("MT-gid").arg(count);
        self.send(command).await
    }

    /// Notes which message an id stands for.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn note_platform_ids(
        &self,
        ids: &[(String, u64)],
        life: Duration,
    ) -> Result<(), RedisError> {
        let mut pipe = redis::pipe();
        for (id, message) in ids {
            let mut set = cmd("SET");
            set.arg(format!("smsc:message:{id}"))
                .arg(message.to_string());
            if !life.is_zero() {
                set.arg("PX").arg(life.as_millis() as u64);
            }
            pipe.add_command(set).ignore();
        }
        self.send_all(pipe).await
    }

    /// The message that an id stands for, if it is known.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn message_of_platform_id(&self, id: &str) -> Result<Option<u64>, RedisError> {
        let mut command = cmd("GET");
        command.arg(format!("smsc:message:{id}"));
        let message: Option<String> = self.send(command).await?;
        Ok(message.and_then(|message| message.parse().ok()))
    }

    /// The counter of ids, if there is one.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn platform_counter(&self) -> Result<Option<u64>, RedisError> {
        let mut command = cmd("GET");
        command.arg("MT-gid");
        let counter: Result<Option<String>, RedisError> = self.send(command).await;
        match counter {
            Err(RedisError::OtherType(_)) => Ok(None),
            counter => Ok(counter?.and_then(|counter| counter.parse().ok())),
        }
    }

    /// Runs a script of the platform's keys.
    pub(super) async fn run<T: FromRedisValue + Send>(
        &self,
        script: &str,
        rows: impl Iterator<Item = Value>,
        options: PlatformOptions,
        now: i64,
    ) -> Result<T, RedisError> {
        let script = Script::new(&format!("{COMMON}{script}"));
        let mut call = script.prepare_invoke();
        call.arg(Value::from_iter(rows).to_string())
            .arg(options.life.as_millis() as u64)
            .arg(now)
            .arg(options.json().to_string());
        self.invoke(call).await
    }
}

// === impl PlatformOptions ===

impl PlatformOptions {
    fn json(self) -> Value {
        json!({
            "platform_forwards": self.platform_forwards,
            "aliases": self.aliases,
            // As text: Lua has no integers of this size.
            "least_gid": RAISED_GID.to_string(),
            "most": PLATFORM_MOST,
            "searched": SEARCHED,
            "repeats": REPEATS,
        })
    }
}

// === impl PlatformRow ===

impl PlatformRow {
    fn json(&self) -> Value {
        let mut row = json!({
            "message": self.message.to_string(),
            "mo": self.is_mo,
            "at": self.at,
            "forwarded": self.is_forwarded,
        });
        if let Some(id) = &self.id {
            row["id"] = id.as_str().into();
        }
        if !self.fields.is_empty() {
            row["fields"] = object(&self.fields);
        }
        if let Some(SubmittedAs { seqno, ts }) = &self.submitted {
            row["seqno"] = seqno.as_str().into();
            row["ts"] = ts.as_str().into();
        }
        if !self.parts.is_empty() {
            let parts = self.parts.iter().map(|part| json!([part.seqno, part.ts]));
            row["parts"] = parts.collect();
        }
        if let Some(why) = &self.failed {
            row["failed"] = why.as_str().into();
        }
        if let Some(report) = &self.report {
            row["report"] = object(report);
        }
        row
    }
}

fn object(fields: &[(&'static str, String)]) -> Value {
    let fields = fields.iter();
    let fields = fields.map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str())));
    Value::Object(fields.collect::<Map<_, _>>())
}

// === impl Forwarding ===

impl Forwarding {
    fn read(entry: &str) -> Option<Self> {
        let (message, id) = entry.split_once(':')?;
        Some(Self {
            message: message.parse().ok()?,
            id: id.to_owned(),
        })
    }
}
