-- The queue of an account has partitions by destination, as that of an operator does, while nodes share it. Nodes
-- of the build before hold such a queue only as a whole (part 255): of the whole and of the parts, one kind at a
-- time is held, and triggers see to it, whichever build claims.

ALTER TABLE carry ADD COLUMN ended boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN carry.ended IS 'a receipt: no move of its message changes its owner';
COMMENT ON COLUMN carry.part IS 'partition of that queue; 255 for a receipt in rows of builds before part was known';

-- As before, but a receipt has the partition of its message, too.
CREATE OR REPLACE FUNCTION carry_fin() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  below bigint := (SELECT value FROM meta WHERE key = 'carry_below');
  finished bigint[];
BEGIN
  -- A look-up for each row, whatever the planner thinks of the history.
  INSERT INTO carry(id, queue, part, ended)
    SELECT a.id, a.tell, coalesce((SELECT m.part FROM msg m WHERE m.id = a.id), 255), true
    FROM added a WHERE a.tell <> 0 AND a.id < below ORDER BY a.id
    ON CONFLICT(id) DO UPDATE SET queue = excluded.queue, part = excluded.part, ended = true;
  finished := ARRAY(SELECT id FROM added WHERE tell = 0 AND id < below);
  IF cardinality(finished) > 0 THEN
    PERFORM uncarry(finished);
  END IF;
  RETURN NULL;
END $$;

-- A receipt stays with its account, however late a move of its message is committed.
CREATE OR REPLACE FUNCTION carry_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  below bigint := (SELECT value FROM meta WHERE key = 'carry_below');
BEGIN
  INSERT INTO carry AS c(id, queue, part)
    SELECT DISTINCT ON (a.id) a.id, a.queue, m.part FROM added a JOIN msg m ON m.id = a.id
    WHERE a.kind = 1 AND a.id < below AND NOT EXISTS (SELECT 1 FROM fin f WHERE f.id = a.id)
    ORDER BY a.id, a.seq DESC
    ON CONFLICT(id) DO UPDATE SET queue = excluded.queue, part = excluded.part
      WHERE NOT c.ended AND c.part IS DISTINCT FROM 255;
  RETURN NULL;
END $$;

-- Claims lock the row of the whole first, so what this reads stays as it is until they are committed.
CREATE FUNCTION lease_one_kind() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM lease l JOIN node n ON n.node = l.node AND n.epoch = l.epoch
             WHERE l.kind = 1 AND l.name = NEW.name AND (l.part = 255) <> (NEW.part = 255)) THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;
COMMENT ON FUNCTION lease_one_kind IS 'a queue is held as a whole or in parts, never both; such a claim gets nothing';
CREATE TRIGGER lease_one_kind BEFORE UPDATE OF node ON lease FOR EACH ROW
  WHEN (NEW.kind = 1 AND NEW.node IS NOT NULL) EXECUTE FUNCTION lease_one_kind();

-- In the snapshot of the take-over: what it has read must not come by the inbox as well.
CREATE FUNCTION lease_taken() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM inbox i WHERE i.queue = NEW.name AND i.part < 255;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION lease_taken IS 'whoever takes a whole queue over has read all of its parts';
CREATE TRIGGER lease_taken AFTER UPDATE OF taken ON lease FOR EACH ROW
  WHEN (NEW.kind = 1 AND NEW.part = 255 AND NEW.taken AND NOT OLD.taken) EXECUTE FUNCTION lease_taken();
