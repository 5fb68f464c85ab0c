-- For other programs, exactly as they know it. Filled when postgres.message_correlations is on.

CREATE SCHEMA smpp;
CREATE TABLE smpp.message_correlations(
  id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
  message_id UUID NOT NULL,
  operator_message_id VARCHAR(64) NOT NULL,
  operator_id UUID NOT NULL,
  destination VARCHAR(20) NOT NULL,
  submitted_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  expires_at TIMESTAMPTZ NOT NULL,
  dlr_received_at TIMESTAMPTZ,
  status VARCHAR(20) NOT NULL DEFAULT 'SUBMITTED',
  CONSTRAINT uq_operator_msg UNIQUE (operator_id, operator_message_id)
);
CREATE INDEX idx_mc_message_id ON smpp.message_correlations(message_id);
CREATE INDEX idx_mc_operator_msg ON smpp.message_correlations(operator_id, operator_message_id);
CREATE INDEX idx_mc_expires_at ON smpp.message_correlations(expires_at) WHERE status = 'SUBMITTED';
COMMENT ON COLUMN smpp.message_correlations.message_id IS 'version 8: made of the id of msg';
COMMENT ON COLUMN smpp.message_correlations.operator_id IS 'version 5: made of the name of the operator';
