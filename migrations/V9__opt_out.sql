-- Numbers that want no messages. Times are Unix milliseconds.

CREATE TABLE opt_out(
  account text NOT NULL,
  number text NOT NULL,
  out boolean NOT NULL,
  at bigint NOT NULL,
  who text NOT NULL,
  version bigint NOT NULL UNIQUE,
  PRIMARY KEY(account, number)
);
CREATE INDEX opt_out_off ON opt_out(at) WHERE NOT out;
COMMENT ON TABLE opt_out IS
  'numbers that want no messages of an account, or of anybody (account empty); out false: off the list again, kept for a day so that every node hears of it';

-- One row: who writes an opt-out holds it until the commit, so that versions appear in their order.
CREATE TABLE opt_out_version(
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version bigint NOT NULL
);
INSERT INTO opt_out_version(version) VALUES(0);
