-- What nobody can know after the database went back in time: messages that are not sent again without an order, and
-- partitions in which such messages are to be looked for. Nodes of the release before know neither, and send them.

CREATE TABLE held(id bigint PRIMARY KEY, at bigint NOT NULL);
COMMENT ON TABLE held IS 'messages that wait for an order: they may have been sent before the database went back in time';

CREATE TABLE doubtful(queue int NOT NULL, part smallint NOT NULL, below bigint NOT NULL, at bigint NOT NULL,
  PRIMARY KEY(queue, part));
COMMENT ON TABLE doubtful IS
  'partitions whose holder may have sent messages (ids below) that still wait here: whoever reads them anew holds these';
