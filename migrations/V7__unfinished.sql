-- How many messages of an account are unfinished, for account.max_waiting.

CREATE TABLE unfinished(
  account int NOT NULL,
  node smallint NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY(account, node)
) WITH (fillfactor = 50);
COMMENT ON TABLE unfinished IS
  'what each node has accepted of an account less what it has ended, added up every heartbeat; the sum over nodes counts. Node -1: what counting them has found, less what the nodes had said by then';
