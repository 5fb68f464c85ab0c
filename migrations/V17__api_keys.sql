-- Who may submit over HTTP for which account. Times are Unix milliseconds.

CREATE TABLE api_keys(
  id text PRIMARY KEY,
  -- system_id of the account.
  account text NOT NULL,
  label text NOT NULL,
  -- SHA-256 of the key, which has 256 random bits itself and is kept nowhere.
  hash bytea NOT NULL UNIQUE,
  role text NOT NULL,
  -- IP addresses and CIDR blocks, separated by blanks; any if empty.
  allow text NOT NULL,
  created_at bigint NOT NULL,
  created_by text NOT NULL,
  expires_at bigint NOT NULL,
  used_at bigint NOT NULL
);
COMMENT ON TABLE api_keys IS 'keys of accounts for submitting over HTTP; expires_at 0 for never';
