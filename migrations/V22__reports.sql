-- Messages, attempts and receipts for other programs: readable names, times with time zones, and a range of days
-- that must be given, so that nobody reads thirty days by accident. Functions in plain SQL are put into the query
-- that uses them: a condition on a column is carried out on the tables, and only the partitions of the days are read.
-- docs/operations.md, "Reading the database", describes them; they keep their columns.

CREATE SCHEMA reports;
COMMENT ON SCHEMA reports IS 'read-only views of messages, attempts and receipts for a range of days (UTC)';

-- The first id of a day; ids carry the time.
CREATE FUNCTION reports.first_id(day date) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ((day - DATE '1970-01-01')::bigint * 86400000) << 20;

CREATE FUNCTION reports.day_of(id bigint) RETURNS date
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN DATE '1970-01-01' + ((id >> 20) / 86400000)::int;

CREATE FUNCTION reports.time_of(ms bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN ms > 0 THEN TIMESTAMPTZ '1970-01-01 00:00:00+00' + ms * INTERVAL '1 millisecond' END;

CREATE FUNCTION reports.state_name(state int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (ARRAY['ENROUTE', 'DELIVERED', 'EXPIRED', 'DELETED', 'UNDELIVERABLE', 'ACCEPTED', 'UNKNOWN',
              'REJECTED'])[state];

-- Names of queues and senders are account:ID, operator:ID and others.
CREATE FUNCTION reports.messages(from_day date, to_day date)
RETURNS TABLE(day date, id bigint, accepted_at timestamptz, direction text, sender text, queue text,
  source text, destination text, due_at timestamptz, expires_at timestamptz, state text,
  ended_at timestamptz, done_at timestamptz, error text, reported_by text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT reports.day_of(m.id), m.id, reports.time_of(m.at),
    CASE m.payload_kind WHEN 1 THEN 'MT' WHEN 3 THEN 'MT' ELSE 'MO' END,
    s.name, q.name, m.source, m.destination, reports.time_of(m.due_at), reports.time_of(m.expires_at),
    coalesce(reports.state_name(f.state), 'ENROUTE'), reports.time_of(f.at), reports.time_of(f.done_at),
    f.error, o.name
  FROM msg m
  LEFT JOIN fin f ON f.id = m.id
    AND f.id >= reports.first_id(from_day) AND f.id < reports.first_id(to_day + 1)
  LEFT JOIN names s ON s.number = m.sender
  LEFT JOIN names q ON q.number = m.queue
  LEFT JOIN names o ON o.number = f.operator
  WHERE m.id >= reports.first_id(from_day) AND m.id < reports.first_id(to_day + 1);
END;
COMMENT ON FUNCTION reports.messages IS
  'messages accepted on these days, both included; queue is the first one, source and destination start with \x where they are no clean text';

CREATE FUNCTION reports.attempts(from_day date, to_day date)
RETURNS TABLE(day date, id bigint, attempt int, answered_at timestamptz, operator text,
  command_status int, operator_message_id text, latency_ms int)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT reports.day_of(a.id), a.id, a.attempt, reports.time_of(a.at), o.name,
    CASE WHEN a.status >= 0 THEN a.status END, a.operator_message_id, a.latency_ms
  FROM sent a
  LEFT JOIN names o ON o.number = a.operator
  WHERE a.id >= reports.first_id(from_day) AND a.id < reports.first_id(to_day + 1);
END;
COMMENT ON FUNCTION reports.attempts IS
  'attempts to send the messages accepted on these days; command_status is NULL where no answer came';

CREATE FUNCTION reports.receipts(from_day date, to_day date)
RETURNS TABLE(day date, id bigint, account text, state text, ended_at timestamptz, acknowledged boolean)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT reports.day_of(f.id), f.id, a.name, reports.state_name(f.state), reports.time_of(f.at),
    t.id IS NOT NULL
  FROM fin f
  LEFT JOIN told t ON t.id = f.id
    AND t.id >= reports.first_id(from_day) AND t.id < reports.first_id(to_day + 1)
  LEFT JOIN names a ON a.number = f.tell
  WHERE f.tell <> 0
    AND f.id >= reports.first_id(from_day) AND f.id < reports.first_id(to_day + 1);
END;
COMMENT ON FUNCTION reports.receipts IS
  'receipts owed for the messages accepted on these days, and whether they were acknowledged or given up';

-- Who may read: GRANT smsc_reports TO somebody. It sees no texts, which are in the column body. Roles belong to the
-- server: another database may have made it, and whoever migrates may not be allowed to.
DO $$
BEGIN
  CREATE ROLE smsc_reports NOLOGIN;
EXCEPTION
  WHEN duplicate_object OR unique_violation THEN
    NULL;
  WHEN insufficient_privilege THEN
    RAISE WARNING 'no role smsc_reports: create it, and run SELECT reports.grant_to(''smsc_reports'')';
END $$;

CREATE FUNCTION reports.grant_to(reader name) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA reports TO %I', reader);
  EXECUTE format('GRANT SELECT (id, at, sender, queue, priority, due_at, expires_at, source, destination,
    payload_kind) ON msg TO %I', reader);
  EXECUTE format('GRANT SELECT ON sent, fin, told, names TO %I', reader);
END $$;
COMMENT ON FUNCTION reports.grant_to IS 'lets a role read what the functions of this schema show';
REVOKE EXECUTE ON FUNCTION reports.grant_to FROM PUBLIC;

DO $$
BEGIN
  IF EXISTS(SELECT 1 FROM pg_roles WHERE rolname = 'smsc_reports') THEN
    PERFORM reports.grant_to('smsc_reports');
  END IF;
END $$;
