-- The bind of an attempt, and messages that are sent again.

ALTER TABLE sent ADD COLUMN bind bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN sent.bind IS 'the session that it went by: node << 48 | session, 0 for none';
COMMENT ON COLUMN change.kind IS '1 move to queue, 2 retry now, 3 cancel, 4 replace, 5 replay';
COMMENT ON COLUMN change.body IS
  'of a replacement: protobuf smsc.v1.Replacement, empty when the text was erased since; of a replay: id of the new message, eight octets';
