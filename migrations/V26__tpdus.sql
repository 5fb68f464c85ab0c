-- Messages that came as TPDUs of a radio network have the payload kinds 3 and 4, which builds before this migration
-- refuse to read. So the first one that is stored sets meta.oldest_schema to 26, in its own transaction: until then
-- the way back to the build before is open.
COMMENT ON COLUMN msg.payload_kind IS
  '1 SMPP submit_sm, 2 SMPP deliver_sm, 3 SMS-SUBMIT, 4 SMS-DELIVER; 3 and 4 since V26';
