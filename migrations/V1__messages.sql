-- The logical schema of the store: rows are inserted, not changed, and the state of a message
-- follows from which rows exist. The id carries the time (milliseconds << 20), so ranges of ids are
-- days, and retention drops whole partitions.
--
-- Beyond standard SQL: PARTITION BY, partial indexes, UNLOGGED, and two functions in PL/pgSQL.
--
-- Octets that came from outside are kept in text columns as they are when they are clean UTF-8
-- without NUL; otherwise, and when they start with a backslash, as \x and hexadecimal digits.

CREATE TABLE meta(key text PRIMARY KEY, value bigint NOT NULL);
COMMENT ON TABLE meta IS
  'low_water: restarts read from here on; carry_below: messages accepted below go to carry as well; highest_id: at least this was used';

CREATE TABLE names(number int PRIMARY KEY, name text NOT NULL UNIQUE);
COMMENT ON TABLE names IS 'numbers that stand for queues and senders in other tables';

CREATE TABLE msg(
  id bigint PRIMARY KEY,
  at bigint NOT NULL,
  sender int NOT NULL,
  queue int NOT NULL,
  part smallint NOT NULL,
  priority int NOT NULL,
  due_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  source text NOT NULL,
  destination text NOT NULL,
  numbering int,
  payload_kind smallint NOT NULL,
  body bytea NOT NULL
) PARTITION BY RANGE(id);
CREATE INDEX msg_destination ON msg(destination, id);
COMMENT ON TABLE msg IS 'one row per accepted message, never changed';
COMMENT ON COLUMN msg.id IS 'Unix milliseconds << 20 | node << 12 | sequence';
COMMENT ON COLUMN msg.at IS 'accepted, Unix milliseconds';
COMMENT ON COLUMN msg.sender IS 'names.number of the account or operator that sent it';
COMMENT ON COLUMN msg.queue IS 'names.number of the queue that it was first routed to; moves are in change';
COMMENT ON COLUMN msg.part IS 'partition of the queue, from the destination';
COMMENT ON COLUMN msg.due_at IS 'not before, Unix milliseconds, 0 for at once';
COMMENT ON COLUMN msg.expires_at IS 'not after, Unix milliseconds';
COMMENT ON COLUMN msg.source IS 'sender address; \x and digits when it is no clean text';
COMMENT ON COLUMN msg.destination IS 'subscriber; \x and digits when it is no clean text';
COMMENT ON COLUMN msg.numbering IS
  'TON and NPI of source, then of destination, one octet each, highest first; NULL when one does not fit and all are in body';
COMMENT ON COLUMN msg.payload_kind IS '1 SMPP submit_sm, 2 SMPP deliver_sm, 3 TPDU submit, 4 TPDU deliver';
COMMENT ON COLUMN msg.body IS 'protobuf smsc.v1.Message without the fields that are columns';

CREATE TABLE sent(
  id bigint NOT NULL,
  attempt int NOT NULL,
  at bigint NOT NULL,
  operator int NOT NULL,
  status int NOT NULL,
  operator_message_id text NOT NULL,
  latency_ms int NOT NULL,
  correlation bigint NOT NULL,
  PRIMARY KEY(id, attempt)
) PARTITION BY RANGE(id);
CREATE INDEX sent_correlation ON sent(correlation) WHERE correlation <> 0;
COMMENT ON TABLE sent IS 'one row per attempt whose answer or timeout was seen, never changed';
COMMENT ON COLUMN sent.at IS 'of the answer or the timeout, Unix milliseconds';
COMMENT ON COLUMN sent.operator IS 'names.number of the queue that it was sent to';
COMMENT ON COLUMN sent.status IS 'command_status of the answer, -1 when none came';
COMMENT ON COLUMN sent.operator_message_id IS 'as received; \x and digits when it is no clean text';
COMMENT ON COLUMN sent.correlation IS 'hash by which a receipt finds the attempt, 0 for none';

CREATE TABLE fin(
  id bigint PRIMARY KEY,
  at bigint NOT NULL,
  state smallint NOT NULL,
  error text NOT NULL,
  operator int NOT NULL,
  tell int NOT NULL
) PARTITION BY RANGE(id);
COMMENT ON TABLE fin IS 'the final state of a message, written once';
COMMENT ON COLUMN fin.state IS 'message_state of SMPP 3.4: 2 DELIVERED, 3 EXPIRED, 4 DELETED, 5 UNDELIVERABLE, 6 ACCEPTED, 7 UNKNOWN, 8 REJECTED';
COMMENT ON COLUMN fin.operator IS 'names.number of who reported it, 0 for ourselves';
COMMENT ON COLUMN fin.tell IS 'names.number of the account queue that must be told, 0 for nobody';

CREATE TABLE told(id bigint PRIMARY KEY) PARTITION BY RANGE(id);
COMMENT ON TABLE told IS 'messages whose receipt the account has acknowledged';

CREATE TABLE change(
  id bigint NOT NULL,
  seq int NOT NULL,
  at bigint NOT NULL,
  kind smallint NOT NULL,
  queue int NOT NULL,
  by text NOT NULL,
  PRIMARY KEY(id, seq)
) PARTITION BY RANGE(id);
COMMENT ON TABLE change IS 'orders about a message; the last of a kind wins';
COMMENT ON COLUMN change.kind IS '1 move to queue, 2 retry now, 3 cancel';
COMMENT ON COLUMN change.by IS 'who ordered it';

CREATE TABLE tries(
  id bigint NOT NULL,
  attempt int NOT NULL,
  at bigint NOT NULL,
  operator int NOT NULL,
  PRIMARY KEY(id, attempt)
) PARTITION BY RANGE(id);
COMMENT ON TABLE tries IS 'attempts about to be made, where one without an answer must not be repeated blindly';

CREATE TABLE retry(id bigint PRIMARY KEY, due_at bigint NOT NULL, attempts int NOT NULL)
  WITH (fillfactor = 70);
COMMENT ON TABLE retry IS 'when a waiting message is due again; gone when it is handed over or final';

CREATE TABLE parked(
  id bigint PRIMARY KEY,
  operator int NOT NULL,
  operator_message_id text NOT NULL,
  at bigint NOT NULL,
  receipt bytea NOT NULL
);
COMMENT ON TABLE parked IS 'receipts that matched no message when they came';

CREATE TABLE carry(id bigint PRIMARY KEY);
COMMENT ON TABLE carry IS 'active messages below meta.low_water';

CREATE TABLE dead(
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  origin text NOT NULL,
  id bigint NOT NULL,
  reason text NOT NULL,
  row bytea NOT NULL
);
COMMENT ON TABLE dead IS 'rows that could not be written; origin is the table they were for';

CREATE TABLE inbox(
  queue int NOT NULL,
  part smallint NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  items bytea NOT NULL,
  PRIMARY KEY(queue, part, seq)
);
COMMENT ON TABLE inbox IS 'work for the node that owns a partition of a queue, taken out by it';
COMMENT ON COLUMN inbox.items IS
  'protobuf smsc.v1.Enqueue with what one commit brought for the partition, bodies included, so that the owner reads nothing else';

CREATE TABLE lane(
  node int NOT NULL,
  epoch bigint NOT NULL,
  lane int NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY(node, epoch, lane)
) WITH (fillfactor = 20);
COMMENT ON TABLE lane IS
  'one row per writing connection of a living node: every write of it updates its row first, so that deleting the rows of a node waits for its open writes and refuses its later ones';
COMMENT ON COLUMN lane.seq IS 'number of the last transaction that was committed';

-- Derived and worthless after a restart, so not logged; that is PostgreSQL's own.
CREATE UNLOGGED TABLE spill(
  node int NOT NULL,
  queue int NOT NULL,
  block bigint NOT NULL,
  octets bytea NOT NULL,
  PRIMARY KEY(node, queue, block)
);
COMMENT ON TABLE spill IS 'blocks of long waiting lists that a node keeps out of its memory';

CREATE VIEW active AS SELECT m.id, m.at, m.sender, m.queue, m.part, m.destination,
  CASE WHEN f.id IS NOT NULL THEN 'untold'
       WHEN EXISTS (SELECT 1 FROM sent s WHERE s.id = m.id AND s.status = 0) THEN 'sent'
       ELSE 'waiting' END AS stage
  FROM msg m LEFT JOIN fin f ON f.id = m.id
  WHERE f.id IS NULL OR (f.tell <> 0 AND NOT EXISTS (SELECT 1 FROM told t WHERE t.id = m.id));
COMMENT ON VIEW active IS 'messages that are not finished';

-- Rows without a day of their own: before the first day, after the last, or left of a dropped day.
CREATE TABLE msg_default PARTITION OF msg DEFAULT;
CREATE TABLE sent_default PARTITION OF sent DEFAULT;
CREATE TABLE fin_default PARTITION OF fin DEFAULT;
CREATE TABLE told_default PARTITION OF told DEFAULT;
CREATE TABLE change_default PARTITION OF change DEFAULT;
CREATE TABLE tries_default PARTITION OF tries DEFAULT;

-- Makes the partitions of one day (days since 1970) for all tables or, when rows of that day are
-- in the default partitions already, for none. True when they exist afterwards.
CREATE FUNCTION make_day(day bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  name text := to_char(to_timestamp(day * 86400) AT TIME ZONE 'UTC', 'YYYYMMDD');
  first bigint := (day * 86400000) << 20;
  after bigint := ((day + 1) * 86400000) << 20;
  part text;
BEGIN
  IF to_regclass('tries_' || name) IS NOT NULL THEN
    RETURN true;
  END IF;
  -- One node at a time; the number is "days" in ASCII.
  PERFORM pg_advisory_xact_lock(1684109683);
  FOREACH part IN ARRAY ARRAY['msg', 'sent', 'fin', 'told', 'change', 'tries'] LOOP
    IF to_regclass(part || '_' || name) IS NULL THEN
      -- Attached, not created in place: that locks the table for nobody who writes to other days.
      EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', part || '_' || name, part);
      EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
                     part, part || '_' || name, first, after);
    END IF;
  END LOOP;
  RETURN true;
EXCEPTION WHEN check_violation THEN
  RETURN false;
END $$;
COMMENT ON FUNCTION make_day IS 'makes the partitions of a day, given in days since 1970';

-- The first statement of every write: fails when the lane is no longer this writer's.
CREATE FUNCTION fence(its_seq bigint, its_node int, its_epoch bigint, its_lane int)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE lane SET seq = its_seq WHERE node = its_node AND epoch = its_epoch AND lane = its_lane;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'lane % of node % in epoch % has been taken away', its_lane, its_node, its_epoch
      USING ERRCODE = 'SM001';
  END IF;
END $$;
COMMENT ON FUNCTION fence IS 'registers a write of a lane, or refuses it (SQLSTATE SM001)';
