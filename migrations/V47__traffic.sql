-- What nodes have counted of messages, by the minute for a day and by the hour for longer: GET /v1/history.

CREATE TABLE traffic(
  -- How long it is, milliseconds: 60000 or 3600000.
  step bigint NOT NULL,
  -- When it began, Unix milliseconds.
  at bigint NOT NULL,
  -- The node that has counted.
  node bigint NOT NULL,
  -- By operator, account and error, in a form of smsc.
  counts bytea NOT NULL,
  PRIMARY KEY(step, at, node)
);
COMMENT ON TABLE traffic IS 'counts of messages by operator, account and error, of each node; minutes are forgotten after a day';
