-- From which id on a row without a checksum is damaged: meta.checksums_from, the highest number while some node may write such rows.
-- A node that has a lane without `checksums` may, which is one of a release before. It withdraws the mark in the transaction in
-- which it joins, before it can write anything, so whoever sees a row of it sees no mark.

ALTER TABLE lane ADD COLUMN checksums boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN lane.checksums IS 'its node writes a checksum with each row; false of a release before';

INSERT INTO meta(key, value) VALUES('checksums_from', 9223372036854775807);

CREATE FUNCTION withdraw_checksums_from() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Whatever it is: whoever is about to set it is waited for.
  UPDATE meta SET value = 9223372036854775807 WHERE key = 'checksums_from';
  RETURN NEW;
END $$;
-- Before, since a process that uses the lanes of the one before it updates them.
CREATE TRIGGER withdraw_checksums_from BEFORE INSERT ON lane FOR EACH ROW
  WHEN (NOT NEW.checksums) EXECUTE FUNCTION withdraw_checksums_from();
-- A release before erases a text together with the checksum, whether it is a member or not.
CREATE TRIGGER withdraw_checksums_from AFTER UPDATE OF body ON msg FOR EACH ROW
  WHEN (substring(NEW.body FOR 2) IS DISTINCT FROM '\x9506'::bytea) EXECUTE FUNCTION withdraw_checksums_from();
-- `smsc migrate-store` of a release before is no node.
CREATE TRIGGER withdraw_checksums_from AFTER INSERT ON meta FOR EACH ROW
  WHEN (NEW.key = 'move_msg') EXECUTE FUNCTION withdraw_checksums_from();
