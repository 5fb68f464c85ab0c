-- Claims of many keys in one transaction, for commands that come in batches.

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
