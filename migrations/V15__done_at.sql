-- fin.at is when this system knew of the end. When it was, as the operator says, is kept beside it:
-- operators write whole minutes, by clocks of their own.
ALTER TABLE fin ADD COLUMN done_at bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN fin.at IS 'when the end was known here, Unix milliseconds';
COMMENT ON COLUMN fin.done_at IS
  'when the message ended, as the receipt of the operator says, Unix milliseconds; 0 when it does not';
COMMENT ON COLUMN smpp.message_correlations.dlr_received_at IS 'when the receipt arrived';

COMMENT ON COLUMN change.kind IS
  '1 move to queue, 2 retry now, 3 cancel, 4 replace, 5 replay, 6 the receipt for the sender was given up';
COMMENT ON TABLE told IS 'messages whose receipt the account has acknowledged, or is not told any more';
