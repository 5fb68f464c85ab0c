-- Which version of the configuration a request has made, so that its entry leads there.

ALTER TABLE audit ADD COLUMN version bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN audit.version IS 'the version of the configuration that the request made, 0 for none';
COMMENT ON COLUMN audit.detail IS
  'what was changed, that a text was read, the name and role of a new token, how many refused requests it stands for';
