-- Notes on accounts, operators and other resources.

CREATE TABLE notes(
  -- From the sequence of message ids: it carries the time.
  id bigint PRIMARY KEY,
  -- The resource: accounts/SYSTEM_ID, operators/ID.
  about text NOT NULL,
  text text NOT NULL,
  -- Who wrote it.
  by text NOT NULL
);
CREATE INDEX notes_by_subject ON notes(about, id);
COMMENT ON TABLE notes IS 'what people have written about resources, for each other';
