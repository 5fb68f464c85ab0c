-- Operators and accounts that were not well: what nodes have found, who has acknowledged it, and how it ended.

CREATE TABLE incidents(
  -- From the sequence of message ids: it carries the time.
  id bigint PRIMARY KEY,
  -- The node that has found it.
  node bigint NOT NULL,
  -- operator:ID, gsm:NAME, account:SYSTEM_ID.
  about text NOT NULL,
  kind text NOT NULL,
  text text NOT NULL,
  cause text NOT NULL,
  -- Unix milliseconds; ended_at and acknowledged_at are 0 until then.
  began_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  ended_at bigint NOT NULL,
  -- Who knows of it.
  acknowledged_by text NOT NULL,
  acknowledged_at bigint NOT NULL
);
COMMENT ON TABLE incidents IS 'operators and accounts whose messages were refused, failed or were answered slowly; the newest 200';
