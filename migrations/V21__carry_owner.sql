-- The active work of a partition is found without reading the traffic around it: carry says who
-- continues a message. It has a row for each active message below meta.low_water and, from here on,
-- hardly any other: whoever writes a final state, an acknowledged receipt or a move keeps it right in
-- the same transaction, builds before this one too, because triggers do it.

ALTER TABLE carry ADD COLUMN queue int, ADD COLUMN part smallint;
CREATE INDEX carry_owner ON carry(queue, part, id);
-- A backlog that drains leaves a dead row for each of its messages.
ALTER TABLE carry SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
COMMENT ON COLUMN carry.queue IS
  'names.number of the queue that owns the message now; NULL, with part, in rows of builds that did not know it';
COMMENT ON COLUMN carry.part IS 'partition of that queue; 255 for a receipt';

-- The plan of a session that has seen the table empty must not be to read all of it.
CREATE FUNCTION uncarry(ids bigint[]) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  DELETE FROM carry WHERE id = ANY(ids);
END $$;
COMMENT ON FUNCTION uncarry IS 'these messages are not active any more';

-- Rows are locked in the order of their ids, as by whoever moves the mark.
CREATE FUNCTION carry_fin() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  below bigint := (SELECT value FROM meta WHERE key = 'carry_below');
  ended bigint[];
BEGIN
  INSERT INTO carry(id, queue, part) SELECT id, tell, 255 FROM added WHERE tell <> 0 AND id < below ORDER BY id
    ON CONFLICT(id) DO UPDATE SET queue = excluded.queue, part = excluded.part;
  ended := ARRAY(SELECT id FROM added WHERE tell = 0 AND id < below);
  IF cardinality(ended) > 0 THEN
    PERFORM uncarry(ended);
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION carry_fin IS 'a carried message that has ended is its sender''s receipt, or nobody''s';
CREATE TRIGGER carry_fin AFTER INSERT ON fin REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION carry_fin();

CREATE FUNCTION carry_told() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  below bigint := (SELECT value FROM meta WHERE key = 'carry_below');
  ended bigint[] := ARRAY(SELECT id FROM added WHERE id < below);
BEGIN
  IF cardinality(ended) > 0 THEN
    PERFORM uncarry(ended);
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION carry_told IS 'a carried receipt that was acknowledged is nobody''s';
CREATE TRIGGER carry_told AFTER INSERT ON told REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION carry_told();

-- A receipt stays with its account, however late a move of its message is committed.
CREATE FUNCTION carry_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  below bigint := (SELECT value FROM meta WHERE key = 'carry_below');
BEGIN
  INSERT INTO carry AS c(id, queue, part)
    SELECT DISTINCT ON (a.id) a.id, a.queue, m.part FROM added a JOIN msg m ON m.id = a.id
    WHERE a.kind = 1 AND a.id < below AND NOT EXISTS (SELECT 1 FROM fin f WHERE f.id = a.id)
    ORDER BY a.id, a.seq DESC
    ON CONFLICT(id) DO UPDATE SET queue = excluded.queue, part = excluded.part
      WHERE c.part IS DISTINCT FROM 255;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION carry_change IS 'a carried message that was moved is the other queue''s';
CREATE TRIGGER carry_change AFTER INSERT ON change REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION carry_change();
