-- Claims of many keys at once, for commands that come in batches; and plans that hold when the table grows quickly.
--
-- A plan that was made while the table was empty is kept until it is analysed again. Reading the whole table, or the index
-- by age, then costs a millisecond for each key. So the functions below go by the key only: `+ 0` keeps the
-- index by age from being used.

-- As before.
CREATE OR REPLACE FUNCTION claim_idempotency(its_account int, its_key bytea, its_request bytea, its_node int,
  its_epoch bigint, its_at bigint, its_since bigint, its_abandoned bigint,
  OUT outcome int, OUT its_answer bytea)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  known idempotency%ROWTYPE;
  durable text := current_setting('synchronous_commit');
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
        AND i.account = its_account AND i.key = its_key AND i.claimed_at + 0 >= its_since
      ORDER BY i.claimed_at + 0 DESC LIMIT 1;
    IF NOT FOUND THEN
      INSERT INTO idempotency AS i(day, account, key, request, node, epoch, claimed_at)
        VALUES((its_at / 86400000)::int, its_account, its_key, its_request, its_node, its_epoch, its_at)
        ON CONFLICT(day, account, key) DO UPDATE SET request = excluded.request, node = excluded.node,
          epoch = excluded.epoch, claimed_at = excluded.claimed_at, answer = NULL, given = false;
      outcome := 0;
      RETURN;
    END IF;
    IF known.answer IS NOT NULL THEN
      IF known.request = its_request AND NOT known.given THEN
        -- The messages of an answer that was given stay, also after a crash of the database.
        PERFORM set_config('synchronous_commit', durable, true);
        UPDATE idempotency i SET given = true
          WHERE i.day = known.day AND i.account = known.account AND i.key = known.key
            AND i.claimed_at + 0 = known.claimed_at AND i.answer IS NOT NULL;
        -- Its messages were taken back just now: the key is free.
        CONTINUE WHEN NOT FOUND;
      END IF;
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
        AND i.node = known.node AND i.epoch = known.epoch AND i.claimed_at + 0 = known.claimed_at
        AND i.answer IS NULL;
  END LOOP;
END $$;

-- As before, one key at a time: a join could put the table first.
CREATE OR REPLACE FUNCTION answer_idempotency(days int[], accounts int[], keys bytea[], times bigint[],
  answers bytea[], its_node int, its_epoch bigint)
RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  one record;
BEGIN
  FOR one IN
    SELECT u.* FROM unnest(days, accounts, keys, times, answers) u(day, account, key, at, answer)
  LOOP
    UPDATE idempotency i SET answer = one.answer
      WHERE i.day = one.day AND i.account = one.account AND i.key = one.key AND i.claimed_at + 0 = one.at
        AND i.node = its_node AND i.epoch = its_epoch;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'the claim of an idempotency key has been taken over' USING ERRCODE = 'SM002';
    END IF;
  END LOOP;
END $$;

CREATE FUNCTION claim_idempotency_keys(accounts int[], keys bytea[], requests bytea[], its_node int,
  its_epoch bigint, times bigint[], since bigint[], abandoned_after bigint)
RETURNS TABLE(place bigint, outcome int, its_answer bytea)
LANGUAGE plpgsql AS $$
DECLARE
  one record;
  is_given boolean := false;
  durable text := current_setting('synchronous_commit');
BEGIN
  -- Locks are taken in the order of keys, so that two transactions with the same keys do not wait for one another.
  FOR one IN
    SELECT u.* FROM unnest(accounts, keys, requests, times, since) WITH ORDINALITY
        AS u(account, key, request, at, since, place)
      ORDER BY u.account, u.key, u.place
  LOOP
    SELECT c.outcome, c.its_answer INTO claim_idempotency_keys.outcome, claim_idempotency_keys.its_answer
      FROM claim_idempotency(one.account, one.key, one.request, its_node, its_epoch, one.at, one.since,
        one.at - abandoned_after) c;
    is_given := is_given OR claim_idempotency_keys.outcome = 1;
    place := one.place;
    RETURN NEXT;
  END LOOP;
  IF is_given THEN
    -- What was told for the first time is to last, whatever the claims after it have set.
    PERFORM set_config('synchronous_commit', durable, true);
  END IF;
END $$;
COMMENT ON FUNCTION claim_idempotency_keys IS 'claim_idempotency for many keys; place: of the key, from 1';
