-- Who is a member of the cluster, and who holds what. Small tables, rewritten often: room in each
-- page keeps the updates of the heartbeat off the index.

CREATE SEQUENCE node_epoch AS bigint;

CREATE TABLE node(
  node smallint PRIMARY KEY,
  epoch bigint NOT NULL,
  lease_until timestamptz NOT NULL,
  since timestamptz NOT NULL,
  card jsonb NOT NULL
) WITH (fillfactor = 50);

-- kind: 1 partition of a queue (name = queue), 2 bind of an operator (name = operator, part = slot),
-- 3 the janitor's work. Held by whoever has this node number and this epoch, if there is such a node.
CREATE TABLE lease(
  kind smallint NOT NULL,
  name int NOT NULL,
  part int NOT NULL,
  node smallint,
  epoch bigint,
  -- Its holder has read what is active in it: what comes to the inbox from then on is for the holder.
  taken boolean NOT NULL DEFAULT false,
  PRIMARY KEY(kind, name, part)
) WITH (fillfactor = 70);
CREATE INDEX lease_by_holder ON lease(node, epoch);

-- Rows live for milliseconds: dead ones are cleared away by their number, not by their share.
ALTER TABLE inbox SET (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_insert_scale_factor = 0,
  autovacuum_vacuum_insert_threshold = 100000
);

-- Operators' commands for other nodes, taken out by them.
CREATE TABLE orders(
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  node smallint NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  body bytea NOT NULL
);
COMMENT ON TABLE orders IS 'commands of the admin API for other nodes; body is protobuf smsc.v1.Order';
