-- Who may use the admin API, and what was done with it. Times are Unix milliseconds.

CREATE TABLE tokens(
  name text PRIMARY KEY,
  -- SHA-256 of the token, which has 256 random bits itself and is kept nowhere.
  hash bytea NOT NULL UNIQUE,
  role text NOT NULL,
  created_at bigint NOT NULL,
  created_by text NOT NULL,
  expires_at bigint NOT NULL,
  used_at bigint NOT NULL
);
COMMENT ON TABLE tokens IS 'tokens of the admin API; expires_at 0 for never';

CREATE TABLE audit(
  id bigint PRIMARY KEY,
  token text NOT NULL,
  role text NOT NULL,
  address text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  status int NOT NULL,
  node smallint NOT NULL
);
COMMENT ON TABLE audit IS 'commands and changes by the admin API; id carries the time as message ids do';
