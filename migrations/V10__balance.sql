-- Prepaid balances and daily quotas of accounts.

CREATE TABLE purse(
  account int NOT NULL,
  day int NOT NULL,
  credits bigint NOT NULL,
  PRIMARY KEY(account, day)
) WITH (fillfactor = 50);
COMMENT ON TABLE purse IS
  'what no node has reserved. day 0: the prepaid balance, in credits. Otherwise days since 1970 by UTC: the quota of that day, in segments, counted from 0 downwards';

CREATE TABLE purse_block(
  account int NOT NULL,
  day int NOT NULL,
  node smallint NOT NULL,
  epoch bigint NOT NULL,
  lane int NOT NULL,
  credits bigint NOT NULL,
  number bigint NOT NULL DEFAULT 0,
  PRIMARY KEY(account, day, node, epoch, lane)
) WITH (fillfactor = 50);
COMMENT ON TABLE purse_block IS
  'what nodes have reserved of a purse. Lane -1: what the node has taken less what it gave back, and the number of the order that did so last; other lanes: what each has spent, below zero. The sum over lanes is left of the block';

CREATE TABLE top_ups(
  id bigint PRIMARY KEY,
  account int NOT NULL,
  amount bigint NOT NULL,
  reference text,
  by text NOT NULL
);
CREATE UNIQUE INDEX top_ups_by_reference ON top_ups(account, reference);
COMMENT ON TABLE top_ups IS 'what was added to balances, or taken from them by a correction';
