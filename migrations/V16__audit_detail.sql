-- What the path of a request does not say.

ALTER TABLE audit ADD COLUMN detail text NOT NULL DEFAULT '';
COMMENT ON COLUMN audit.detail IS
  'that a text was read, the name and role of a new token, how many refused requests it stands for';
