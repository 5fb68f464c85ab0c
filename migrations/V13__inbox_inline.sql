-- A row of the inbox lives for milliseconds and has a few thousand octets: compressing it and cutting
-- it into rows of a side table cost more than all else that is done with it. Up to a page it stays
-- whole, and nothing is compressed.
ALTER TABLE inbox ALTER COLUMN items SET STORAGE EXTERNAL;
ALTER TABLE inbox SET (toast_tuple_target = 8160);
