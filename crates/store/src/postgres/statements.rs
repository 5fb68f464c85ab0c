//! The SQL of the writer: one statement per table, its rows as arrays.
//!
//! Prepared once per connection by a lane. Guarantees that rows are inserted and never changed
//! (except `retry`, `tries` and `heard`, where the last one wins), that the first final state wins, and that
//! an attempt whose number is in use gets the next one.
//!
//! Steps whose names end in `New` are for rows that nothing is in the way of, and fail otherwise. They cost a quarter to
//! a half less: PostgreSQL looks nothing up before it inserts, logs a record less for each row, and sets up fewer tables.

use tokio_postgres::{Client, Error, Statement};

use super::failure::{CommitResult, PostgresFailure};

/// Declares the steps and the list of them.
macro_rules! steps {
    ($($Step:ident,)+) => {
        /// One statement of a transaction, in the order in which they are run.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum StatementStep {
            $($Step,)+
        }

        /// All of them, by `StatementStep as usize`.
        const STEPS: &[StatementStep] = &[$(StatementStep::$Step,)+];
    };
}

steps! {
    Fence,
    RefuseOlder,
    Accept,
    AcceptAlone,
    RemoteItems,
    Tries,
    Sent,
    SentNew,
    Correlate,
    Early,
    Fin,
    FinNew,
    FinRemote,
    Received,
    Unretry,
    Retry,
    Told,
    ToldNew,
    Change,
    Park,
    Unpark,
    Heard,
    Charge,
    Answer,
    Quarantine,
}

/// The part of a statement that writes the events of the ends that won, by the numbers of its parameters: who reads, their
/// kind, and what the checksums are put together of, for each reader and for each end of `$1`.
macro_rules! noted {
    ($readers:literal, $kind:literal, $of_readers:literal, $of_ids:literal) => {
        concat!(
            "noted AS (INSERT INTO outbox(reader, kind, at, ids, checksum)
               SELECT r.reader, ",
            $kind,
            ", w.at, w.ids, outbox_checksum(r.checksum, w.at, w.checksum)
               FROM unnest(",
            $readers,
            "::smallint[], ",
            $of_readers,
            "::int[]) r(reader, checksum),
                 (SELECT min(at) AS at, array_agg(id) AS ids,
                   (SELECT bit_xor(e.checksum) FROM unnest($1::bigint[], ",
            $of_ids,
            "::int[]) e(id, checksum)
                     WHERE e.id IN (SELECT id FROM won)) AS checksum FROM won) w
               WHERE w.ids IS NOT NULL)"
        )
    };
}

/// The prepared steps of a connection.
pub struct PreparedSteps(Vec<Option<Statement>>);

// === impl PreparedSteps ===

impl PreparedSteps {
    /// Prepares them, those for the table for other programs only where that is kept.
    pub async fn new(client: &Client, correlations: bool) -> Result<Self, Error> {
        let mut prepared = Vec::with_capacity(STEPS.len());
        for step in STEPS {
            prepared.push(if step.is_for_correlations() && !correlations {
                None
            } else {
                Some(client.prepare(step.sql()).await?)
            });
        }
        Ok(Self(prepared))
    }

    /// The prepared form of a step.
    pub fn statement(&self, step: StatementStep) -> CommitResult<&Statement> {
        let statement = self.0[step as usize].as_ref();
        statement.ok_or_else(|| PostgresFailure::Other(format!("{step:?} is not prepared")))
    }
}

// === impl StatementStep ===

impl StatementStep {
    #[expect(clippy::too_many_lines, reason = "a table: each step and its SQL")]
    pub fn sql(self) -> &'static str {
        match self {
            Self::Fence => "SELECT fence($1, $2, $3, $4)",
            // Before the first message that builds without V26 cannot read; later ones find it done, and lock nothing.
            Self::RefuseOlder => {
                "INSERT INTO meta(key, value) SELECT 'oldest_schema', 26
                 WHERE NOT EXISTS(SELECT FROM meta WHERE key = 'oldest_schema' AND value >= 26)
                 ON CONFLICT(key) DO UPDATE SET value = greatest(meta.value, excluded.value)"
            }
            Self::Accept => {
                "SELECT accept_messages($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
            }
            // With the fence, which comes first: a transaction in one statement.
            Self::AcceptAlone => {
                "WITH fenced AS MATERIALIZED (SELECT fence($1, $2, $3, $4))
                 SELECT accept_messages($5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
                 FROM fenced"
            }
            Self::RemoteItems => {
                "INSERT INTO inbox(queue, part, items)
                 SELECT * FROM unnest($1::int[], $2::smallint[], $3::bytea[])"
            }
            Self::Tries => {
                "INSERT INTO tries(id, attempt, at, operator)
                 SELECT * FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::int[])
                 ON CONFLICT(id, attempt) DO UPDATE
                 SET at = excluded.at, operator = excluded.operator"
            }
            // The outer part inserts rows that conflicted: a late answer after a timeout gets the
            // next number, unless an identical row exists. It is not run if nothing conflicted.
            Self::Sent => {
                "WITH won AS (INSERT INTO sent
                   SELECT * FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::int[], $5::int[],
                     $6::text[], $7::int[], $8::bigint[], $9::bigint[], $10::int[])
                   ON CONFLICT DO NOTHING RETURNING id, attempt)
                 INSERT INTO sent SELECT v.id, v.number, v.at, v.operator, v.status,
                   v.operator_message_id, v.latency_ms, v.correlation, v.bind,
                   v.checksum # v.attempt # v.number
                 FROM (SELECT u.*, ((SELECT max(s.attempt) FROM sent s WHERE s.id = u.id)
                     + row_number() OVER (PARTITION BY u.id ORDER BY u.attempt))::int AS number
                   FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
                   u(id, attempt, at, operator, status, operator_message_id, latency_ms, correlation,
                     bind, checksum)
                   LEFT JOIN won w ON w.id = u.id AND w.attempt = u.attempt
                 WHERE (SELECT count(*) FROM won) < cardinality($1)
                   AND w.id IS NULL AND NOT EXISTS (
                   SELECT 1 FROM sent s WHERE s.id = u.id AND s.at = u.at
                     AND s.operator = u.operator AND s.status = u.status
                     AND s.operator_message_id = u.operator_message_id)) v"
            }
            Self::SentNew => {
                "INSERT INTO sent
                 SELECT * FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::int[], $5::int[],
                   $6::text[], $7::int[], $8::bigint[], $9::bigint[], $10::int[])"
            }
            // xmax is PostgreSQL's own: zero in a row that was inserted, not changed. A row of others stays as it is.
            Self::Correlate => {
                "WITH u AS MATERIALIZED (SELECT * FROM
                   unnest($1::bigint[], $2::uuid[], $3::text[], $4::uuid[], $5::bigint[])
                   u(id, message, theirs, operator, at)),
                 kept AS (INSERT INTO smpp.message_correlations AS c(message_id,
                   operator_message_id, operator_id, destination, submitted_at, expires_at)
                 SELECT u.message, u.theirs, u.operator, left(m.destination, 20),
                   to_timestamp(u.at / 1000.0), to_timestamp((u.at + $6) / 1000.0)
                 FROM u JOIN msg m ON m.id = u.id
                   AND m.id >= (SELECT min(i) FROM unnest($1::bigint[]) i)
                   AND m.id <= (SELECT max(i) FROM unnest($1::bigint[]) i)
                 ON CONFLICT(operator_id, operator_message_id) DO UPDATE
                 SET message_id = excluded.message_id, destination = excluded.destination,
                   submitted_at = excluded.submitted_at, expires_at = excluded.expires_at,
                   dlr_received_at = NULL, status = 'SUBMITTED'
                 WHERE c.status <> 'SUBMITTED' AND (is_made_of_id(c.message_id)
                   OR EXISTS (SELECT FROM correlation_row k WHERE k.id = c.id))
                 RETURNING c.id, c.operator_id, c.operator_message_id, c.xmax = 0 AS is_new),
                 ours AS (INSERT INTO correlation_row(id, msg)
                   SELECT k.id, u.id FROM kept k
                   JOIN u ON u.operator = k.operator_id AND u.theirs = k.operator_message_id
                   ON CONFLICT(id) DO UPDATE SET msg = excluded.msg)
                 SELECT is_new FROM kept"
            }
            Self::Early => {
                "INSERT INTO outbox(reader, kind, at, ids, data, checksum)
                 SELECT r.reader, $2, $3, $4, $5, r.checksum
                 FROM unnest($1::smallint[], $6::int[]) r(reader, checksum)"
            }
            // With the events for each reader, whose checksums are put together of those of their parts.
            Self::FinNew => {
                "WITH noted AS (INSERT INTO outbox(reader, kind, at, ids, checksum)
                   SELECT r.reader, $10, e.at, $1::bigint[],
                     outbox_checksum(r.checksum, e.at, e.checksum)
                   FROM unnest($9::smallint[], $11::int[]) r(reader, checksum),
                     (SELECT (SELECT min(a) FROM unnest($2::bigint[]) a) AS at,
                       (SELECT bit_xor(c) FROM unnest($12::int[]) c) AS checksum) e)
                 INSERT INTO fin(id, at, state, error, operator, tell, done_at, checksum)
                 SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::text[],
                   $5::int[], $6::int[], $7::bigint[], $8::int[])"
            }
            // With the events of those that won.
            Self::Fin => {
                concat!(
                    "WITH won AS (INSERT INTO fin(id, at, state, error, operator, tell, done_at, checksum)
                   SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::text[],
                     $5::int[], $6::int[], $7::bigint[], $8::int[])
                   ON CONFLICT DO NOTHING RETURNING id, at), ",
                    noted!("$9", "$10", "$11", "$12"),
                    " SELECT id FROM won"
                )
            }
            // The same, with receipts for other nodes.
            Self::FinRemote => {
                concat!(
                    "WITH u AS MATERIALIZED (
                   SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::text[],
                     $5::int[], $6::int[], $7::bigint[], $8::int[], $9::bytea[], $10::smallint[])
                   u(id, at, state, error, operator, tell, done_at, checksum, octets, part)),
                 won AS (INSERT INTO fin(id, at, state, error, operator, tell, done_at, checksum)
                   SELECT id, at, state, error, operator, tell, done_at, checksum FROM u
                   ON CONFLICT DO NOTHING RETURNING id, at),
                 handed AS (INSERT INTO inbox(queue, part, items)
                   SELECT u.tell, u.part, string_agg(u.octets, '' ORDER BY u.id)
                   FROM won JOIN u ON u.id = won.id
                   WHERE u.octets IS NOT NULL GROUP BY u.tell, u.part), ",
                    noted!("$11", "$12", "$13", "$14"),
                    " SELECT id FROM won"
                )
            }
            // Only if our row won. The bounds exclude other days. What the release before wrote is known by its message_id.
            Self::Received => {
                "UPDATE smpp.message_correlations c
                 SET dlr_received_at = to_timestamp(e.at / 1000.0), status = 'DLR_RECEIVED'
                 FROM (SELECT u.* FROM
                   unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::bigint[], $5::int[])
                   u(id, message, operator, at, number)
                   JOIN fin f ON f.id = u.id AND f.at = u.at AND f.operator = u.number
                     AND f.id >= (SELECT min(i) FROM unnest($1::bigint[]) i)
                     AND f.id <= (SELECT max(i) FROM unnest($1::bigint[]) i)) e,
                   LATERAL (SELECT k.id FROM correlation_row k WHERE k.msg = e.id
                     UNION ALL SELECT o.id FROM smpp.message_correlations o
                     WHERE o.message_id = e.message
                       AND NOT EXISTS (SELECT FROM correlation_row k WHERE k.id = o.id)) ours
                 WHERE c.id = ours.id AND c.operator_id = e.operator"
            }
            Self::Unretry => "DELETE FROM retry WHERE id = ANY($1::bigint[])",
            Self::Retry => {
                "INSERT INTO retry(id, due_at, attempts)
                 SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::int[]) u(id, due_at, attempts)
                 WHERE NOT EXISTS(SELECT 1 FROM fin f WHERE f.id = u.id)
                 ON CONFLICT(id) DO UPDATE
                 SET due_at = excluded.due_at, attempts = excluded.attempts"
            }
            Self::Told => {
                "INSERT INTO told(id) SELECT * FROM unnest($1::bigint[]) ON CONFLICT DO NOTHING"
            }
            Self::ToldNew => "INSERT INTO told(id) SELECT * FROM unnest($1::bigint[])",
            Self::Change => {
                "INSERT INTO change(id, seq, at, kind, queue, by, expires_at, body, checksum)
                 SELECT u.id, (coalesce((SELECT max(c.seq) FROM change c WHERE c.id = u.id), 0)
                     + row_number() OVER (PARTITION BY u.id ORDER BY u.n))::int,
                   u.at, u.kind, u.queue, u.by, u.expires_at, u.body, u.checksum
                 FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::int[], $5::text[],
                   $6::bigint[], $7::bytea[], $8::int[])
                   WITH ORDINALITY u(id, at, kind, queue, by, expires_at, body, checksum, n)"
            }
            Self::Park => {
                "INSERT INTO parked(id, operator, operator_message_id, at, receipt, checksum)
                 SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[], $4::bigint[],
                   $5::bytea[], $6::int[])"
            }
            // An id must not be forgotten with its last row; that row is rarely the highest.
            Self::Unpark => {
                "WITH gone AS (DELETE FROM parked WHERE id = ANY($1::bigint[]) RETURNING id)
                 INSERT INTO meta(key, value)
                 SELECT 'highest_id', g.highest FROM (SELECT max(id) AS highest FROM gone) g
                 WHERE g.highest > greatest((SELECT max(id) FROM msg),
                   (SELECT value FROM meta WHERE key = 'highest_id'), 0)
                 ON CONFLICT(key) DO UPDATE SET value = greatest(meta.value, excluded.value)"
            }
            // One statement may not change a row twice, and rows are locked in one order by all nodes.
            Self::Heard => {
                "INSERT INTO heard(id, kind, at, operator, state, word, error, done_at, due)
                 SELECT DISTINCT ON (u.id, u.kind) u.id, u.kind, u.at, u.operator, u.state, u.word,
                   u.error, u.done_at, u.due
                 FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::int[], $5::smallint[],
                   $6::text[], $7::text[], $8::bigint[], $9::bigint[])
                   WITH ORDINALITY u(id, kind, at, operator, state, word, error, done_at, due, n)
                 ORDER BY u.id, u.kind, u.n DESC
                 ON CONFLICT(id, kind) DO UPDATE
                 SET at = excluded.at, operator = excluded.operator, state = excluded.state,
                   word = excluded.word, error = excluded.error, done_at = excluded.done_at,
                   due = excluded.due"
            }
            Self::Charge => {
                "INSERT INTO purse_block(account, day, node, epoch, lane, credits)
                 SELECT u.account, u.day, $4, $5, $6, -u.amount
                 FROM unnest($1::int[], $2::int[], $3::bigint[]) u(account, day, amount)
                 ON CONFLICT(account, day, node, epoch, lane) DO UPDATE
                 SET credits = purse_block.credits + excluded.credits"
            }
            Self::Answer => "SELECT answer_idempotency($1, $2, $3, $4, $5, $6, $7)",
            Self::Quarantine => {
                "INSERT INTO dead(at, origin, id, reason, row, checksum)
                 VALUES($1, $2, $3, $4, $5, $6)"
            }
        }
    }

    /// The step for the same rows where none is there already.
    pub fn for_new_rows(self) -> Self {
        match self {
            Self::Sent => Self::SentNew,
            Self::Fin => Self::FinNew,
            Self::Told => Self::ToldNew,
            other => other,
        }
    }

    /// Whether it writes final states, and answers with the ids of those that won.
    pub fn is_fin(self) -> bool {
        matches!(self, Self::Fin | Self::FinRemote)
    }

    /// Whether it needs the table for other programs.
    pub fn is_for_correlations(self) -> bool {
        matches!(self, Self::Correlate | Self::Received)
    }
}
