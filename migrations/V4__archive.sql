-- Finished messages: what the erasure of texts has left behind, and indexes for the search.

CREATE TABLE text_left(id bigint PRIMARY KEY);
COMMENT ON TABLE text_left IS
  'messages below meta.text_upto that were active, or had ended too late, when their text was to be erased';

-- Makes the search indexes of a day that is over: a plain CREATE INDEX reads the partition once and
-- sorts, which is what "fed in sorted batches" costs least; the day that is written to has none.
CREATE FUNCTION index_day(day bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  part text := 'msg_' || to_char(to_timestamp(day * 86400) AT TIME ZONE 'UTC', 'YYYYMMDD');
BEGIN
  IF to_regclass(part) IS NOT NULL THEN
    EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON %I(source, id)', part || '_source', part);
    EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON %I(sender, id)', part || '_sender', part);
  END IF;
END $$;
COMMENT ON FUNCTION index_day IS 'makes the search indexes of a day that is over, in days since 1970';
