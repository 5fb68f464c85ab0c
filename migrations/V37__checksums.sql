-- Checksums of rows (CRC32C), NULL in those of releases before; that of a message, and of a change with a blob, is in its
-- blob. Rows that were found damaged are listed in damaged, numbers masked. Nodes of the release before know neither and
-- write neither.

ALTER TABLE sent ADD COLUMN checksum int;
ALTER TABLE fin ADD COLUMN checksum int;
ALTER TABLE change ADD COLUMN checksum int;
ALTER TABLE parked ADD COLUMN checksum int;
COMMENT ON COLUMN sent.checksum IS 'CRC32C of the row without its number, xor the number';

CREATE TABLE damaged(id bigint NOT NULL, origin text NOT NULL, found_at bigint NOT NULL, why text NOT NULL,
  legible text NOT NULL, PRIMARY KEY(id, origin));
COMMENT ON TABLE damaged IS 'rows that are not as they were written: the message, or the number of the row, and its table';
