-- Which rows of smpp.message_correlations are ours. Their message_id may be one that a platform gave, so it does not tell; all
-- others are the platform's own, and are never deleted. Nodes of the release before write no row here: what they wrote is
-- known by its message_id.

CREATE TABLE correlation_row(id uuid PRIMARY KEY, msg bigint NOT NULL);
CREATE INDEX correlation_row_msg ON correlation_row(msg);
COMMENT ON TABLE correlation_row IS 'rows of smpp.message_correlations (id) that are ours, and their message';

CREATE FUNCTION is_made_of_id(uuid) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT $1::text ~ '^.{14}8.{3}-[89ab][048c]00-0{12}$' $$;
COMMENT ON FUNCTION is_made_of_id IS 'whether a message_id is of version 8 and made of the id of msg';

COMMENT ON COLUMN smpp.message_correlations.message_id IS
  'what the platform calls the message, of all its parts; without that version 8, made of the id of msg';
