-- Accounts, operators and routes: the configuration that all nodes share, and how it came to be.

CREATE TABLE accounts(name text PRIMARY KEY, version bigint NOT NULL, body text NOT NULL);
CREATE TABLE operators(name text PRIMARY KEY, version bigint NOT NULL, body text NOT NULL);
CREATE TABLE routes(name text PRIMARY KEY, version bigint NOT NULL, body text NOT NULL);
COMMENT ON TABLE accounts IS 'body is JSON with the keys of [[account]] that are not the default; changed by the admin API only';
COMMENT ON TABLE operators IS 'body is JSON with the keys of [[operator]] that are not the default; changed by the admin API only';
COMMENT ON TABLE routes IS 'body is JSON with the keys of [[route]] that are not the default; changed by the admin API only';

CREATE TABLE config_versions(
  version bigint PRIMARY KEY,
  -- Unix milliseconds.
  at bigint NOT NULL,
  who text NOT NULL,
  what text NOT NULL,
  -- JSON: each changed resource with its body before and after.
  changes text NOT NULL
);
