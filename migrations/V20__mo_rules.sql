-- Rules for messages that operators bring: more of the configuration that all nodes share.

CREATE TABLE mo_rules(name text PRIMARY KEY, version bigint NOT NULL, body text NOT NULL);
COMMENT ON TABLE mo_rules IS 'body is JSON with the keys of [[mo_rule]] that are not the default; changed by the admin API only';
