-- A silent host may keep a transaction and deliver it when its lane has long asked another host, and was told that it was not
-- committed. The lane has a higher number since then, so a transaction with a number that is not above it is refused.

CREATE OR REPLACE FUNCTION fence(its_seq bigint, its_node int, its_epoch bigint, its_lane int)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE lane SET seq = its_seq
    WHERE node = its_node AND epoch = its_epoch AND lane = its_lane AND seq < its_seq;
  IF FOUND THEN
    RETURN;
  END IF;
  IF EXISTS(SELECT FROM lane WHERE node = its_node AND epoch = its_epoch AND lane = its_lane) THEN
    -- serialization_failure: rolled back, and tried again with a new number.
    RAISE EXCEPTION 'transaction % of lane % of node % comes after a later one', its_seq, its_lane, its_node
      USING ERRCODE = '40001';
  END IF;
  RAISE EXCEPTION 'lane % of node % in epoch % has been taken away', its_lane, its_node, its_epoch
    USING ERRCODE = 'SM001';
END $$;
COMMENT ON FUNCTION fence IS
  'registers a write of a lane, or refuses it: SQLSTATE SM001 when the lane was taken away, 40001 when it has a higher number';
COMMENT ON COLUMN lane.seq IS
  'number of the last transaction that was committed, or above the one that was found not to be';
