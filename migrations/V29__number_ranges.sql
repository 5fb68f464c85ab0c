-- The number plan: more of the configuration that all nodes share.

CREATE TABLE number_ranges(name text PRIMARY KEY, version bigint NOT NULL, body text NOT NULL);
COMMENT ON TABLE number_ranges IS 'body is JSON with the keys of [[number_range]] that are not the default; changed by the admin API only';
