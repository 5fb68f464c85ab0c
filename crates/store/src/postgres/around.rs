//! Reads around what the database cannot read: pages with a wrong checksum, and what the disk does not give.
//!
//! Called by readers of many messages. Such a page makes every statement fail that comes upon it, so what failed is read
//! in halves until what is on the page is found; so is what gives rows that were not asked for, whose ids are damaged.
//! Guarantees that all else is read, and that nothing is taken for damaged that can be read again: an id is set aside only
//! when its row fails alone, twice. What only an index cannot find is left
//! out, and is told apart from that, because `REINDEX` brings it back.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio_postgres::GenericClient;

use super::failure::{DbError, DbResult, describe, is_unreadable, strange};
use crate::damage::{DamageLog, DamagedRow, PAGE};

/// Most statements for one reading, and the time for them: then what is left over is left out.
const PROBES: usize = 10_000;
const PATIENCE: Duration = Duration::from_secs(60);
/// What an index does not find fails as a whole: where so many spans on both sides fail, only the edges are looked for.
const INSIDE: usize = 1;

/// Ids that a statement reads.
pub trait IdSpan: Clone + Send + Sync {
    /// `None` for a single id.
    fn halves(&self) -> Option<(Self, Self)>;
    /// Whether nothing is between them.
    fn touches(&self, next: &Self) -> bool;
    fn first(&self) -> i64;
    fn last(&self) -> i64;
}

/// Rows that are being read.
pub type SpanRows<'r, T> = BoxFuture<'r, DbResult<Vec<T>>>;

/// Where is read, and about what.
pub struct SpanReader<'a, C> {
    pub client: &'a C,
    pub damage: &'a DamageLog,
    /// Whose rows are read, where the error does not say so.
    pub table: &'static str,
    /// Then the failure of a statement must not be that of the transaction.
    pub is_transaction: bool,
}

/// What was read, in no order.
#[derive(Debug)]
pub struct Around<T> {
    pub read: Vec<T>,
    /// What was noted: rows that cannot be read.
    pub damaged: Vec<DamagedRow>,
    /// The first and the last id of ranges that were left out whole.
    pub left_out: Vec<(i64, i64)>,
}

/// What cannot be read.
#[derive(Clone)]
struct Relation {
    /// Its name in the database.
    name: String,
    /// The table whose rows it has, without the day.
    table: String,
    is_index: bool,
}

/// A span that failed.
struct Failed<S> {
    span: S,
    why: String,
    relation: Option<Relation>,
    /// It is not divided any more.
    is_over: bool,
}

// === impl SpanReader ===

impl<C: GenericClient + Sync> SpanReader<'_, C> {
    /// Reads a span, or all that can be read of it. What cannot is noted.
    ///
    /// # Errors
    /// It failed for another reason than what is in the database.
    pub async fn read<'r, S: IdSpan, T: Send>(
        &self,
        span: S,
        read: impl Fn(S) -> SpanRows<'r, T> + Send + Sync,
    ) -> DbResult<Around<T>> {
        let mut all = Around::default();
        let error = match self.probe(span.clone(), &read).await? {
            Ok(rows) => {
                all.read = rows;
                return Ok(all);
            }
            Err(error) => error,
        };
        let began = Instant::now();
        if self.is_transaction {
            // A small table would be read whole for each half.
            let settings = "SET LOCAL enable_seqscan = off";
            self.client.batch_execute(settings).await?;
        }
        let mut relations = BTreeMap::new();
        let mut level = vec![self.failed(span, &error, &mut relations).await?];
        let mut probes = 0;
        while level.iter().any(|failed| !failed.is_over) {
            let inside: Vec<bool> = (0..level.len()).map(|at| is_inside(&level, at)).collect();
            for (mut failed, is_inside) in std::mem::take(&mut level).into_iter().zip(inside) {
                let is_over = is_inside || probes >= PROBES || began.elapsed() > PATIENCE;
                let parts = match failed.span.halves() {
                    _ if is_over || failed.is_over => Vec::new(),
                    Some((left, right)) => vec![left, right],
                    None if failed.is_index() => Vec::new(),
                    // Once more: what fails for a moment is not damaged.
                    None => vec![failed.span.clone()],
                };
                if parts.is_empty() {
                    // It stays, so that its neighbours are known to be at no edge.
                    failed.is_over = true;
                    level.push(failed);
                    continue;
                }
                let is_again = parts.len() == 1;
                for part in parts {
                    probes += 1;
                    let error = match self.probe(part.clone(), &read).await? {
                        Ok(rows) => {
                            all.read.extend(rows);
                            continue;
                        }
                        Err(error) => error,
                    };
                    let failed = self.failed(part, &error, &mut relations).await?;
                    if is_again && !failed.is_index() {
                        let row = failed.row(self.table);
                        self.damage.note(row.clone());
                        all.damaged.push(row);
                    } else {
                        level.push(failed);
                    }
                }
            }
        }
        let mut pages: BTreeMap<String, Vec<Failed<S>>> = BTreeMap::new();
        for failed in level {
            let name = failed.relation.as_ref().map(|one| one.name.clone());
            pages
                .entry(name.unwrap_or_default())
                .or_default()
                .push(failed);
        }
        for (_, failed) in pages {
            self.damage.note(page(&failed));
            let spans = failed.iter();
            all.left_out
                .extend(spans.map(|one| (one.span.first(), one.span.last())));
        }
        tracing::error!(
            %error,
            probes,
            damaged = all.damaged.len(),
            left_out = all.left_out.len(),
            ms = began.elapsed().as_millis() as u64,
            "a page of the database cannot be read: the rest was read"
        );
        Ok(all)
    }

    /// Reads a span; the inner error says what is wrong with a page.
    async fn probe<'r, S: IdSpan, T: Send>(
        &self,
        span: S,
        read: &(impl Fn(S) -> SpanRows<'r, T> + Send + Sync),
    ) -> DbResult<Result<Vec<T>, String>> {
        if self.is_transaction {
            self.client.batch_execute("SAVEPOINT around").await?;
        }
        let (done, end) = match read(span).await {
            Ok(rows) => (Ok(rows), "RELEASE SAVEPOINT around"),
            Err(error) => {
                let why = match error {
                    DbError::Sql(error) if is_unreadable(&error) => describe(&error),
                    DbError::Strange(id) => strange(id),
                    error => return Err(error),
                };
                let end = "ROLLBACK TO SAVEPOINT around; RELEASE SAVEPOINT around";
                (Err(why), end)
            }
        };
        if self.is_transaction {
            self.client.batch_execute(end).await?;
        }
        Ok(done)
    }

    async fn failed<S: IdSpan>(
        &self,
        span: S,
        why: &str,
        known: &mut BTreeMap<u32, Option<Relation>>,
    ) -> DbResult<Failed<S>> {
        let relation = match file_of(why) {
            None => None,
            Some(file) => match known.get(&file) {
                Some(relation) => relation.clone(),
                None => {
                    let relation = self.relation(file).await?;
                    known.insert(file, relation.clone());
                    relation
                }
            },
        };
        Ok(Failed {
            span,
            why: why.to_owned(),
            relation,
            is_over: false,
        })
    }

    /// The table or index with this file.
    async fn relation(&self, file: u32) -> DbResult<Option<Relation>> {
        let sql = "SELECT c.relname::text, c.relkind = 'i',
               substring(coalesce(i.indrelid::regclass, t.oid::regclass, c.oid::regclass)::text
                 FROM '^(.*?)(?:_default|_[0-9]{8})?$')
             FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
               LEFT JOIN pg_class t ON t.reltoastrelid = c.oid AND c.relkind = 't'
             WHERE c.relfilenode = $1";
        let row = self.client.query_opt(sql, &[&file]).await?;
        row.map(|row| {
            Ok(Relation {
                name: row.try_get(0)?,
                is_index: row.try_get(1)?,
                table: row.try_get(2)?,
            })
        })
        .transpose()
    }
}

/// Whether a span is in the middle of what an index does not find. Spans ascend.
fn is_inside<S: IdSpan>(level: &[Failed<S>], at: usize) -> bool {
    let Some(first) = at.checked_sub(INSIDE) else {
        return false;
    };
    level.get(first..=at + INSIDE).is_some_and(|around| {
        around.iter().all(Failed::is_index)
            && around
                .windows(2)
                .all(|two| two[0].span.touches(&two[1].span))
    })
}

/// One row for all that was left out for one reason.
fn page<S: IdSpan>(failed: &[Failed<S>]) -> DamagedRow {
    let firsts = failed.iter().map(|one| one.span.first());
    let lasts = failed.iter().map(|one| one.span.last());
    let (first, last) = (firsts.min().unwrap_or(0), lasts.max().unwrap_or(0));
    let one = failed.first();
    let why = one.map_or("", |one| &one.why);
    let cure = match one.and_then(|one| one.relation.as_ref()) {
        Some(relation) if relation.is_index => {
            format!("; repair it with REINDEX INDEX {}", relation.name)
        }
        Some(relation) => format!("; it is of {}", relation.name),
        None => String::new(),
    };
    let ranges = failed.len();
    DamagedRow::new(
        PAGE,
        first as u64,
        format!("{ranges} ranges of ids up to {last} are left out: {why}{cure}"),
    )
}

/// The number of the file that an error is about, as "relation base/5/16400" and "file "base/5/16400.1"" say.
fn file_of(error: &str) -> Option<u32> {
    let mut file = None;
    let mut after_number = false;
    for piece in error.split('/') {
        let digits = piece.len() - piece.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if after_number && digits > 0 {
            file = piece[..digits].parse().ok();
        }
        after_number = digits > 0 && digits == piece.len();
    }
    file
}

// === impl Failed ===

impl<S: IdSpan> Failed<S> {
    fn is_index(&self) -> bool {
        let is_index = self.relation.as_ref().is_some_and(|one| one.is_index);
        is_index || self.why.contains("(SQLSTATE XX002)")
    }

    /// That of a single id.
    fn row(&self, table: &str) -> DamagedRow {
        let table = self.relation.as_ref().map_or(table, |one| &one.table);
        DamagedRow::new(table, self.span.first() as u64, &*self.why)
    }
}

// === impl IdSpan ===

/// Ascending ids.
impl IdSpan for &[i64] {
    fn halves(&self) -> Option<(Self, Self)> {
        (self.len() > 1).then(|| self.split_at(self.len() / 2))
    }

    fn touches(&self, next: &Self) -> bool {
        self.as_ptr_range().end == next.as_ptr()
    }

    fn first(&self) -> i64 {
        <[i64]>::first(self).copied().unwrap_or(0)
    }

    fn last(&self) -> i64 {
        <[i64]>::last(self).copied().unwrap_or(0)
    }
}

/// All ids from one up to another. Never empty.
impl IdSpan for Range<i64> {
    fn halves(&self) -> Option<(Self, Self)> {
        let wide = self.end.saturating_sub(self.start);
        let middle = self.start + wide / 2;
        (wide > 1).then_some((self.start..middle, middle..self.end))
    }

    fn touches(&self, next: &Self) -> bool {
        self.end == next.start
    }

    fn first(&self) -> i64 {
        self.start
    }

    fn last(&self) -> i64 {
        self.end - 1
    }
}

// === impl Around ===

impl<T> Around<T> {
    /// The ids of rows that cannot be read, in order.
    pub fn damaged_ids(&self) -> Vec<i64> {
        let mut ids: Vec<i64> = self.damaged.iter().map(|row| row.id as i64).collect();
        ids.sort_unstable();
        ids
    }

    /// Below this id nothing was left out that may be found later.
    pub fn whole_below(&self) -> Option<i64> {
        self.left_out.iter().map(|(first, _)| *first).min()
    }
}

impl<T> Default for Around<T> {
    fn default() -> Self {
        Self {
            read: Vec::new(),
            damaged: Vec::new(),
            left_out: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{IdSpan, file_of};

    #[test]
    fn the_file_of_an_error_is_found() {
        for (error, file) in [
            (
                "invalid page in block 3 of relation base/5/16400 (SQLSTATE XX001)",
                Some(16400),
            ),
            (
                "invalid page in block 3 of relation \"base/5/16401\" (SQLSTATE XX001)",
                Some(16401),
            ),
            (
                "could not read blocks 0..0 in file \"base/5/16400.1\": Input/output error (SQLSTATE 58030)",
                Some(16400),
            ),
            (
                "invalid page in block 0 of relation pg_tblspc/16385/PG_17_202406281/5/16402",
                Some(16402),
            ),
            ("compressed pglz data is corrupt (SQLSTATE XX001)", None),
            ("Input/output error", None),
        ] {
            assert_eq!(file_of(error), file, "{error}");
        }
    }

    #[test]
    fn halves_cover_a_span_once() {
        assert_eq!(
            (0..i64::MAX).halves(),
            Some((0..i64::MAX / 2, i64::MAX / 2..i64::MAX))
        );
        assert_eq!((7..9).halves(), Some((7..8, 8..9)));
        assert_eq!((7..8).halves(), None);
        let ids: &[i64] = &[1, 5, 9];
        assert_eq!(ids.halves(), Some((&ids[..1], &ids[1..])));
        assert_eq!((&ids[..1]).halves(), None);
    }
}
