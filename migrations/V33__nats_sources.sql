-- Sources of commands on NATS JetStream: more of the configuration that all nodes share.

CREATE TABLE nats_sources(name text PRIMARY KEY, version bigint NOT NULL, body text NOT NULL);
COMMENT ON TABLE nats_sources IS 'body is JSON with the keys of [[nats_source]] that are not the default; changed by the admin API only';
