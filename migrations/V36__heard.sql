-- What operators have said of messages without ending them: words of no standard (kind 0), and states that may not be the
-- last ones (kind 1), of each the last. A state of kind 1 is the final one at the time in `due`, unless a receipt
-- ends the message before; 0 when that is done with. Nodes of the release before end messages by such states at once.

CREATE TABLE heard(id bigint NOT NULL, kind smallint NOT NULL, at bigint NOT NULL, operator int NOT NULL,
  state smallint NOT NULL, word text NOT NULL, error text NOT NULL, done_at bigint NOT NULL, due bigint NOT NULL,
  PRIMARY KEY(id, kind));
CREATE INDEX heard_due ON heard(due, id) WHERE due > 0;
COMMENT ON TABLE heard IS 'what receipts have said of messages without ending them: kind 0 a word of no standard, 1 a state that may not be the last';
COMMENT ON COLUMN heard.due IS 'when the state becomes the final one, Unix milliseconds; 0 for never, or when it is settled';
