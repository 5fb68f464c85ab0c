-- GSM core networks: more of the configuration that all nodes share.

CREATE TABLE gsm(name text PRIMARY KEY, version bigint NOT NULL, body text NOT NULL);
COMMENT ON TABLE gsm IS 'body is JSON with the keys of [[gsm]] that are not the default; changed by the admin API only';
