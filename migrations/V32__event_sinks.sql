-- Event sinks: more of the configuration that all nodes share, and what has happened before the end of messages.

CREATE TABLE event_sinks(name text PRIMARY KEY, version bigint NOT NULL, body text NOT NULL);
COMMENT ON TABLE event_sinks IS 'body is JSON with the keys of [[event_sink]] that are not the default; changed by the admin API only';

ALTER TABLE outbox ADD COLUMN data bytea;
COMMENT ON COLUMN outbox.data IS 'of kind 2: the encoded EarlyEvents, each about the message of the same place in ids (0 for none)';
COMMENT ON COLUMN outbox.reader IS '1 call detail records, 2 usage, 3 [nats]; from 100 on names.number of an event sink and 100';
