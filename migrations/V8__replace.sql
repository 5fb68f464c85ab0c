-- Messages that are replaced while they wait.

ALTER TABLE change ADD COLUMN expires_at bigint NOT NULL DEFAULT 0;
ALTER TABLE change ADD COLUMN body bytea;
COMMENT ON COLUMN change.kind IS '1 move to queue, 2 retry now, 3 cancel, 4 replace';
COMMENT ON COLUMN change.expires_at IS 'of a replacement: not after, Unix milliseconds';
COMMENT ON COLUMN change.body IS
  'of a replacement: protobuf smsc.v1.Replacement; empty when the text was erased since';
