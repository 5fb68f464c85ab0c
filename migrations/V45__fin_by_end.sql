-- What did not end DELIVERED (2), by when it ended: for lists of what has failed since a moment. What was delivered is not in
-- the index and pays nothing for it. Partitions that make_day makes from now on have it from the beginning.

CREATE INDEX fin_by_end ON ONLY fin(at, id) INCLUDE (state) WHERE state <> 2;
COMMENT ON INDEX fin_by_end IS 'what did not end DELIVERED, by its end; partitions of before get it when their day is over';

-- Gives a partition of fin the index, unless it has it.
CREATE FUNCTION index_ends(part text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS(SELECT FROM pg_inherits i JOIN pg_index x ON x.indexrelid = i.inhrelid
            WHERE i.inhparent = 'fin_by_end'::regclass AND x.indrelid = to_regclass(part)) THEN
    RETURN;
  END IF;
  EXECUTE format('CREATE INDEX %I ON %I(at, id) INCLUDE (state) WHERE state <> 2', part || '_by_end', part);
  EXECUTE format('ALTER INDEX fin_by_end ATTACH PARTITION %I', part || '_by_end');
END $$;
COMMENT ON FUNCTION index_ends IS 'gives a partition of fin its part of the index fin_by_end';

-- Partitions with many rows are left to the janitor, when their day is over (see ends_without_index): while an index is made,
-- nobody can write.
DO $$
DECLARE
  part text;
BEGIN
  FOR part IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
              WHERE i.inhparent = 'fin'::regclass AND pg_table_size(c.oid) < 1048576 LOOP
    PERFORM index_ends(part);
  END LOOP;
END $$;

CREATE FUNCTION ends_without_index(before bigint) RETURNS SETOF text LANGUAGE sql STABLE AS $$
  SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'fin'::regclass AND c.relname ~ '^fin_[0-9]{8}$'
    AND c.relname < 'fin_' || to_char(to_timestamp(before * 86400) AT TIME ZONE 'UTC', 'YYYYMMDD')
    AND NOT EXISTS(SELECT FROM pg_inherits j JOIN pg_index x ON x.indexrelid = j.inhrelid
                   WHERE j.inhparent = 'fin_by_end'::regclass AND x.indrelid = i.inhrelid)
  ORDER BY c.relname DESC
$$;
COMMENT ON FUNCTION ends_without_index IS
  'partitions of fin of days before this one, given in days since 1970, that lack the index fin_by_end';
