-- When and from where each account has bound last.

CREATE TABLE logins(
  -- The system_id.
  account text PRIMARY KEY,
  -- Unix milliseconds.
  at bigint NOT NULL,
  -- The IP address that it came from.
  address text NOT NULL,
  -- transmitter, receiver or transceiver.
  bind_type text NOT NULL,
  -- The node that it has bound to.
  node bigint NOT NULL
);
COMMENT ON TABLE logins IS 'the last bind of each account';
