-- What has happened to messages, for whoever must hear of all of it; call detail records; and sums of
-- usage. Times are Unix milliseconds.

CREATE TABLE outbox(
  row bigint GENERATED ALWAYS AS IDENTITY,
  -- 1 call detail records, 2 usage.
  reader smallint NOT NULL,
  -- 1 messages have reached their final state.
  kind smallint NOT NULL,
  -- The earliest of the events.
  at bigint NOT NULL,
  ids bigint[] NOT NULL,
  -- Who has taken the row, and when.
  holder text,
  held_at bigint,
  PRIMARY KEY(reader, row)
) WITH (fillfactor = 80);
COMMENT ON TABLE outbox IS 'events that a reader has not finished yet, a row for each commit and reader';

CREATE TABLE cdr(
  id bigint PRIMARY KEY,
  account text NOT NULL,
  kind text NOT NULL,
  sender text NOT NULL,
  queue text NOT NULL,
  source text NOT NULL,
  destination text NOT NULL,
  accepted_at bigint NOT NULL,
  final_at bigint NOT NULL,
  done_at bigint,
  state text NOT NULL,
  operator text NOT NULL,
  attempts int NOT NULL,
  data_coding int NOT NULL,
  octets int NOT NULL,
  parts int NOT NULL,
  error text NOT NULL,
  network text NOT NULL,
  replay_of bigint,
  price bigint NOT NULL,
  currency text NOT NULL,
  client_reference text NOT NULL
);
CREATE INDEX cdr_by_end ON cdr(final_at);
COMMENT ON TABLE cdr IS 'call detail records, where cdr.format is "table"';
COMMENT ON COLUMN cdr.final_at IS 'when the final state became known; done_at is what the operator said';

CREATE TABLE usage(
  -- Days since 1970 (UTC).
  day int NOT NULL,
  -- Interned names, 0 for none.
  account int NOT NULL,
  operator int NOT NULL,
  -- ISO 3166-1, empty if the number does not say.
  country text NOT NULL,
  state int NOT NULL,
  -- 1 for mobile originated.
  kind int NOT NULL,
  currency text NOT NULL,
  messages bigint NOT NULL,
  parts bigint NOT NULL,
  price bigint NOT NULL,
  PRIMARY KEY(day, account, operator, country, state, kind, currency)
) WITH (fillfactor = 70);
COMMENT ON TABLE usage IS 'how many messages ended';
