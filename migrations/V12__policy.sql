-- Lists, limits and the policy of all accounts: more of the configuration that all nodes share.

CREATE TABLE lists(name text PRIMARY KEY, version bigint NOT NULL, body text NOT NULL);
CREATE TABLE limits(name text PRIMARY KEY, version bigint NOT NULL, body text NOT NULL);
CREATE TABLE policies(name text PRIMARY KEY, version bigint NOT NULL, body text NOT NULL);
COMMENT ON TABLE lists IS 'body is JSON with the keys of [[list]] that are not the default; changed by the admin API only';
COMMENT ON TABLE limits IS 'body is JSON with the keys of [[limit]] that are not the default; changed by the admin API only';
COMMENT ON TABLE policies IS 'the only row is all; body is JSON with the keys of [policy] that are not the default; changed by the admin API only';
