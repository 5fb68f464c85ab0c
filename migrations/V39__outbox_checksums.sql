-- Checksums of events, call detail records and rows that could not be written, NULL in those of releases before. Nodes of the
-- release before write none.

ALTER TABLE outbox ADD COLUMN checksum int;
ALTER TABLE cdr ADD COLUMN checksum int;
ALTER TABLE dead ADD COLUMN checksum int;

-- A transaction itself finds out which of its messages have ended by it. So the checksum of a row of events is put together of
-- those of its reader, its kind and its data, which the node knows, and of those of its ids, which the node knows as well.
CREATE FUNCTION outbox_checksum(of_reader int, its_at bigint, of_ids int) RETURNS int LANGUAGE sql IMMUTABLE AS
  $$ SELECT of_reader # its_at::bit(32)::int # (its_at >> 32)::int # of_ids $$;
COMMENT ON FUNCTION outbox_checksum IS 'the checksum of a row of outbox, of its parts; of_ids: those of all ids, xor';

-- Nodes of the release before erase numbers and leave the checksum, which then is none of the row. This release writes another
-- one with them.
CREATE FUNCTION forget_cdr_checksum() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.checksum := NULL;
  RETURN NEW;
END $$;
CREATE TRIGGER forget_cdr_checksum BEFORE UPDATE OF source, destination, client_reference ON cdr FOR EACH ROW
  WHEN (NEW.checksum = OLD.checksum AND (NEW.source, NEW.destination, NEW.client_reference)
    IS DISTINCT FROM (OLD.source, OLD.destination, OLD.client_reference))
  EXECUTE FUNCTION forget_cdr_checksum();
