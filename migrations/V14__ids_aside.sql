-- Ids that a wrong clock has left in the future, set aside by `smsc repair-ids`. They keep their node
-- number to themselves until that time has come, so that no id is given twice.
CREATE TABLE ids_aside(
  node int NOT NULL,
  first bigint NOT NULL,
  last bigint NOT NULL,
  PRIMARY KEY(node, first)
);
COMMENT ON TABLE ids_aside IS 'ranges of ids (with the node in bits 12 to 19) whose time is wrong';
