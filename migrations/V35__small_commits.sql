-- What every commit of results pays for however few its rows are: a statement sets up all tables of all days that it
-- could touch before it knows whether it will. What is rarely needed is set up where it is.

-- As in V25, but nothing is set up while all rows are above the mark.
CREATE OR REPLACE FUNCTION carry_fin() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  below bigint := (SELECT value FROM meta WHERE key = 'carry_below');
  finished bigint[];
BEGIN
  IF NOT EXISTS (SELECT FROM added WHERE id < below) THEN
    RETURN NULL;
  END IF;
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

-- Messages that are accepted, and of those below the mark that they are active.
CREATE FUNCTION accept_messages(ids bigint[], times bigint[], senders int[], queues int[], parts smallint[],
  priorities int[], due bigint[], expiries bigint[], sources text[], destinations text[], numberings int[],
  payload_kinds smallint[], bodies bytea[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO msg(id, at, sender, queue, part, priority, due_at, expires_at, source, destination, numbering, payload_kind,
      body)
    SELECT * FROM unnest(ids, times, senders, queues, parts, priorities, due, expiries, sources, destinations, numberings,
      payload_kinds, bodies);
  INSERT INTO carry(id, queue, part)
    SELECT * FROM unnest(ids, queues, parts) u(id, queue, part)
    WHERE u.id < (SELECT value FROM meta WHERE key = 'carry_below')
    ON CONFLICT DO NOTHING;
END $$;
COMMENT ON FUNCTION accept_messages IS 'writes accepted messages; in a transaction that is fenced';
