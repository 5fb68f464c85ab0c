-- Answers to requests over HTTP with an Idempotency-Key. Times are Unix milliseconds.

CREATE TABLE idempotency(
  -- Days since 1970 of claimed_at: keys are random, so that the index grows in one place, that of today.
  day int NOT NULL,
  account int NOT NULL,
  -- SHA-256 of the key, and of the request with it.
  key bytea NOT NULL,
  request bytea NOT NULL,
  -- Who carries it out.
  node int NOT NULL,
  epoch bigint NOT NULL,
  claimed_at bigint NOT NULL,
  answer bytea,
  PRIMARY KEY(day, account, key)
) WITH (fillfactor = 70);
CREATE INDEX idempotency_by_age ON idempotency(claimed_at);
COMMENT ON TABLE idempotency IS 'requests over HTTP that were carried out, and those that are';
COMMENT ON COLUMN idempotency.answer IS
  'protobuf smsc.v1.IdempotentAnswer, written with the messages; NULL while the request is carried out';

-- Claims a key unless it has an answer or is claimed: outcome 0 claimed, 1 answered, 2 a different request had
-- the key, 3 claimed by another. Answers before its_since do not count. A claim before its_abandoned, or of a node
-- that is no member any more, is over: what that node still writes for it is refused.
CREATE FUNCTION claim_idempotency(its_account int, its_key bytea, its_request bytea, its_node int,
  its_epoch bigint, its_at bigint, its_since bigint, its_abandoned bigint,
  OUT outcome int, OUT its_answer bytea)
LANGUAGE plpgsql AS $$
DECLARE
  known idempotency%ROWTYPE;
BEGIN
  -- A claim that a crash of the database loses can be made again, and its answer is refused: no need to wait for
  -- a sync of its own.
  PERFORM set_config('synchronous_commit', 'off', true);
  -- The key of yesterday's row and that of today's are two keys of the table: one claim at a time.
  PERFORM pg_advisory_xact_lock(hashtextextended(encode(its_key, 'hex'), its_account));
  LOOP
    -- A node whose clock is ahead may have written tomorrow.
    SELECT * INTO known FROM idempotency i
      WHERE i.day = ANY(ARRAY(SELECT generate_series((its_since / 86400000)::int,
          (its_at / 86400000)::int + 1)))
        AND i.account = its_account AND i.key = its_key AND i.claimed_at >= its_since
      ORDER BY i.claimed_at DESC LIMIT 1;
    IF NOT FOUND THEN
      INSERT INTO idempotency AS i
        VALUES((its_at / 86400000)::int, its_account, its_key, its_request, its_node, its_epoch, its_at)
        ON CONFLICT(day, account, key) DO UPDATE SET request = excluded.request, node = excluded.node,
          epoch = excluded.epoch, claimed_at = excluded.claimed_at, answer = NULL;
      outcome := 0;
      RETURN;
    END IF;
    IF known.answer IS NOT NULL THEN
      outcome := CASE WHEN known.request = its_request THEN 1 ELSE 2 END;
      its_answer := known.answer;
      RETURN;
    END IF;
    IF known.claimed_at >= its_abandoned
      AND EXISTS(SELECT 1 FROM lane l WHERE l.node = known.node AND l.epoch = known.epoch) THEN
      outcome := 3;
      RETURN;
    END IF;
    -- Waits for a transaction that is just writing the answer, which is then found.
    DELETE FROM idempotency i
      WHERE i.day = known.day AND i.account = known.account AND i.key = known.key
        AND i.node = known.node AND i.epoch = known.epoch AND i.claimed_at = known.claimed_at
        AND i.answer IS NULL;
  END LOOP;
END $$;
COMMENT ON FUNCTION claim_idempotency IS 'claims the key of a request, or finds its answer';

-- Part of the transaction that writes the messages: fails unless the node still holds all of the claims.
CREATE FUNCTION answer_idempotency(days int[], accounts int[], keys bytea[], times bigint[],
  answers bytea[], its_node int, its_epoch bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  answered int;
BEGIN
  UPDATE idempotency i SET answer = u.answer
    FROM unnest(days, accounts, keys, times, answers) u(day, account, key, at, answer)
    WHERE i.day = u.day AND i.account = u.account AND i.key = u.key AND i.claimed_at = u.at
      AND i.node = its_node AND i.epoch = its_epoch;
  GET DIAGNOSTICS answered = ROW_COUNT;
  IF answered <> cardinality(days) THEN
    RAISE EXCEPTION 'the claim of an idempotency key has been taken over' USING ERRCODE = 'SM002';
  END IF;
END $$;
COMMENT ON FUNCTION answer_idempotency IS 'answers requests, or refuses their messages (SQLSTATE SM002)';
