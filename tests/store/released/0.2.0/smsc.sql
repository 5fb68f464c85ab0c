
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE SCHEMA smpp;

CREATE FUNCTION public.fence(its_seq bigint, its_node integer, its_epoch bigint, its_lane integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
  UPDATE lane SET seq = its_seq WHERE node = its_node AND epoch = its_epoch AND lane = its_lane;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'lane % of node % in epoch % has been taken away', its_lane, its_node, its_epoch
      USING ERRCODE = 'SM001';
  END IF;
END $$;

COMMENT ON FUNCTION public.fence(its_seq bigint, its_node integer, its_epoch bigint, its_lane integer) IS 'registers a write of a lane, or refuses it (SQLSTATE SM001)';

CREATE FUNCTION public.index_day(day bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
  part text := 'msg_' || to_char(to_timestamp(day * 86400) AT TIME ZONE 'UTC', 'YYYYMMDD');
BEGIN
  IF to_regclass(part) IS NOT NULL THEN
    EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON %I(source, id)', part || '_source', part);
    EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON %I(sender, id)', part || '_sender', part);
  END IF;
END $$;

COMMENT ON FUNCTION public.index_day(day bigint) IS 'makes the search indexes of a day that is over, in days since 1970';

CREATE FUNCTION public.make_day(day bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
  name text := to_char(to_timestamp(day * 86400) AT TIME ZONE 'UTC', 'YYYYMMDD');
  first bigint := (day * 86400000) << 20;
  after bigint := ((day + 1) * 86400000) << 20;
  part text;
BEGIN
  IF to_regclass('tries_' || name) IS NOT NULL THEN
    RETURN true;
  END IF;
  -- One node at a time; the number is "days" in ASCII.
  PERFORM pg_advisory_xact_lock(1684109683);
  FOREACH part IN ARRAY ARRAY['msg', 'sent', 'fin', 'told', 'change', 'tries'] LOOP
    IF to_regclass(part || '_' || name) IS NULL THEN
      -- Attached, not created in place: that locks the table for nobody who writes to other days.
      EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', part || '_' || name, part);
      EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
                     part, part || '_' || name, first, after);
    END IF;
  END LOOP;
  RETURN true;
EXCEPTION WHEN check_violation THEN
  RETURN false;
END $$;

COMMENT ON FUNCTION public.make_day(day bigint) IS 'makes the partitions of a day, given in days since 1970';

SET default_tablespace = '';

SET default_table_access_method = heap;

CREATE TABLE public.accounts (
    name text NOT NULL,
    version bigint NOT NULL,
    body text NOT NULL
);

COMMENT ON TABLE public.accounts IS 'body is JSON with the keys of [[account]] that are not the default; changed by the admin API only';

CREATE TABLE public.fin (
    id bigint NOT NULL,
    at bigint NOT NULL,
    state smallint NOT NULL,
    error text NOT NULL,
    operator integer NOT NULL,
    tell integer NOT NULL,
    done_at bigint DEFAULT 0 NOT NULL
)
PARTITION BY RANGE (id);

COMMENT ON TABLE public.fin IS 'the final state of a message, written once';

COMMENT ON COLUMN public.fin.at IS 'when the end was known here, Unix milliseconds';

COMMENT ON COLUMN public.fin.state IS 'message_state of SMPP 3.4: 2 DELIVERED, 3 EXPIRED, 4 DELETED, 5 UNDELIVERABLE, 6 ACCEPTED, 7 UNKNOWN, 8 REJECTED';

COMMENT ON COLUMN public.fin.operator IS 'names.number of who reported it, 0 for ourselves';

COMMENT ON COLUMN public.fin.tell IS 'names.number of the account queue that must be told, 0 for nobody';

COMMENT ON COLUMN public.fin.done_at IS 'when the message ended, as the receipt of the operator says, Unix milliseconds; 0 when it does not';

CREATE TABLE public.msg (
    id bigint NOT NULL,
    at bigint NOT NULL,
    sender integer NOT NULL,
    queue integer NOT NULL,
    part smallint NOT NULL,
    priority integer NOT NULL,
    due_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    source text NOT NULL,
    destination text NOT NULL,
    numbering integer,
    payload_kind smallint NOT NULL,
    body bytea NOT NULL
)
PARTITION BY RANGE (id);

COMMENT ON TABLE public.msg IS 'one row per accepted message, never changed';

COMMENT ON COLUMN public.msg.id IS 'Unix milliseconds << 20 | node << 12 | sequence';

COMMENT ON COLUMN public.msg.at IS 'accepted, Unix milliseconds';

COMMENT ON COLUMN public.msg.sender IS 'names.number of the account or operator that sent it';

COMMENT ON COLUMN public.msg.queue IS 'names.number of the queue that it was first routed to; moves are in change';

COMMENT ON COLUMN public.msg.part IS 'partition of the queue, from the destination';

COMMENT ON COLUMN public.msg.due_at IS 'not before, Unix milliseconds, 0 for at once';

COMMENT ON COLUMN public.msg.expires_at IS 'not after, Unix milliseconds';

COMMENT ON COLUMN public.msg.source IS 'sender address; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg.destination IS 'subscriber; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg.numbering IS 'TON and NPI of source, then of destination, one octet each, highest first; NULL when one does not fit and all are in body';

COMMENT ON COLUMN public.msg.payload_kind IS '1 SMPP submit_sm, 2 SMPP deliver_sm, 3 TPDU submit, 4 TPDU deliver';

COMMENT ON COLUMN public.msg.body IS 'protobuf smsc.v1.Message without the fields that are columns';

CREATE TABLE public.sent (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL,
    status integer NOT NULL,
    operator_message_id text NOT NULL,
    latency_ms integer NOT NULL,
    correlation bigint NOT NULL,
    bind bigint DEFAULT 0 NOT NULL
)
PARTITION BY RANGE (id);

COMMENT ON TABLE public.sent IS 'one row per attempt whose answer or timeout was seen, never changed';

COMMENT ON COLUMN public.sent.at IS 'of the answer or the timeout, Unix milliseconds';

COMMENT ON COLUMN public.sent.operator IS 'names.number of the queue that it was sent to';

COMMENT ON COLUMN public.sent.status IS 'command_status of the answer, -1 when none came';

COMMENT ON COLUMN public.sent.operator_message_id IS 'as received; \x and digits when it is no clean text';

COMMENT ON COLUMN public.sent.correlation IS 'hash by which a receipt finds the attempt, 0 for none';

COMMENT ON COLUMN public.sent.bind IS 'the session that it went by: node << 48 | session, 0 for none';

CREATE TABLE public.told (
    id bigint NOT NULL
)
PARTITION BY RANGE (id);

COMMENT ON TABLE public.told IS 'messages whose receipt the account has acknowledged, or is not told any more';

CREATE VIEW public.active AS
 SELECT m.id,
    m.at,
    m.sender,
    m.queue,
    m.part,
    m.destination,
        CASE
            WHEN (f.id IS NOT NULL) THEN 'untold'::text
            WHEN (EXISTS ( SELECT 1
               FROM public.sent s
              WHERE ((s.id = m.id) AND (s.status = 0)))) THEN 'sent'::text
            ELSE 'waiting'::text
        END AS stage
   FROM (public.msg m
     LEFT JOIN public.fin f ON ((f.id = m.id)))
  WHERE ((f.id IS NULL) OR ((f.tell <> 0) AND (NOT (EXISTS ( SELECT 1
           FROM public.told t
          WHERE (t.id = m.id))))));

COMMENT ON VIEW public.active IS 'messages that are not finished';

CREATE TABLE public.audit (
    id bigint NOT NULL,
    token text NOT NULL,
    role text NOT NULL,
    address text NOT NULL,
    method text NOT NULL,
    path text NOT NULL,
    status integer NOT NULL,
    node smallint NOT NULL,
    detail text DEFAULT ''::text NOT NULL
);

COMMENT ON TABLE public.audit IS 'commands and changes by the admin API; id carries the time as message ids do';

COMMENT ON COLUMN public.audit.detail IS 'that a text was read, the name and role of a new token, how many refused requests it stands for';

CREATE TABLE public.carry (
    id bigint NOT NULL
);

COMMENT ON TABLE public.carry IS 'active messages below meta.low_water';

CREATE TABLE public.change (
    id bigint NOT NULL,
    seq integer NOT NULL,
    at bigint NOT NULL,
    kind smallint NOT NULL,
    queue integer NOT NULL,
    by text NOT NULL,
    expires_at bigint DEFAULT 0 NOT NULL,
    body bytea
)
PARTITION BY RANGE (id);

COMMENT ON TABLE public.change IS 'orders about a message; the last of a kind wins';

COMMENT ON COLUMN public.change.kind IS '1 move to queue, 2 retry now, 3 cancel, 4 replace, 5 replay, 6 the receipt for the sender was given up';

COMMENT ON COLUMN public.change.by IS 'who ordered it';

COMMENT ON COLUMN public.change.expires_at IS 'of a replacement: not after, Unix milliseconds';

COMMENT ON COLUMN public.change.body IS 'of a replacement: protobuf smsc.v1.Replacement, empty when the text was erased since; of a replay: id of the new message, eight octets';

CREATE TABLE public.change_20231114 (
    id bigint NOT NULL,
    seq integer NOT NULL,
    at bigint NOT NULL,
    kind smallint NOT NULL,
    queue integer NOT NULL,
    by text NOT NULL,
    expires_at bigint DEFAULT 0 NOT NULL,
    body bytea
);

COMMENT ON COLUMN public.change_20231114.kind IS '1 move to queue, 2 retry now, 3 cancel, 4 replace, 5 replay, 6 the receipt for the sender was given up';

COMMENT ON COLUMN public.change_20231114.by IS 'who ordered it';

COMMENT ON COLUMN public.change_20231114.expires_at IS 'of a replacement: not after, Unix milliseconds';

COMMENT ON COLUMN public.change_20231114.body IS 'of a replacement: protobuf smsc.v1.Replacement, empty when the text was erased since; of a replay: id of the new message, eight octets';

CREATE TABLE public.change_20261123 (
    id bigint NOT NULL,
    seq integer NOT NULL,
    at bigint NOT NULL,
    kind smallint NOT NULL,
    queue integer NOT NULL,
    by text NOT NULL,
    expires_at bigint DEFAULT 0 NOT NULL,
    body bytea
);

COMMENT ON COLUMN public.change_20261123.kind IS '1 move to queue, 2 retry now, 3 cancel, 4 replace, 5 replay, 6 the receipt for the sender was given up';

COMMENT ON COLUMN public.change_20261123.by IS 'who ordered it';

COMMENT ON COLUMN public.change_20261123.expires_at IS 'of a replacement: not after, Unix milliseconds';

COMMENT ON COLUMN public.change_20261123.body IS 'of a replacement: protobuf smsc.v1.Replacement, empty when the text was erased since; of a replay: id of the new message, eight octets';

CREATE TABLE public.change_20261124 (
    id bigint NOT NULL,
    seq integer NOT NULL,
    at bigint NOT NULL,
    kind smallint NOT NULL,
    queue integer NOT NULL,
    by text NOT NULL,
    expires_at bigint DEFAULT 0 NOT NULL,
    body bytea
);

COMMENT ON COLUMN public.change_20261124.kind IS '1 move to queue, 2 retry now, 3 cancel, 4 replace, 5 replay, 6 the receipt for the sender was given up';

COMMENT ON COLUMN public.change_20261124.by IS 'who ordered it';

COMMENT ON COLUMN public.change_20261124.expires_at IS 'of a replacement: not after, Unix milliseconds';

COMMENT ON COLUMN public.change_20261124.body IS 'of a replacement: protobuf smsc.v1.Replacement, empty when the text was erased since; of a replay: id of the new message, eight octets';

CREATE TABLE public.change_20261125 (
    id bigint NOT NULL,
    seq integer NOT NULL,
    at bigint NOT NULL,
    kind smallint NOT NULL,
    queue integer NOT NULL,
    by text NOT NULL,
    expires_at bigint DEFAULT 0 NOT NULL,
    body bytea
);

COMMENT ON COLUMN public.change_20261125.kind IS '1 move to queue, 2 retry now, 3 cancel, 4 replace, 5 replay, 6 the receipt for the sender was given up';

COMMENT ON COLUMN public.change_20261125.by IS 'who ordered it';

COMMENT ON COLUMN public.change_20261125.expires_at IS 'of a replacement: not after, Unix milliseconds';

COMMENT ON COLUMN public.change_20261125.body IS 'of a replacement: protobuf smsc.v1.Replacement, empty when the text was erased since; of a replay: id of the new message, eight octets';

CREATE TABLE public.change_20261126 (
    id bigint NOT NULL,
    seq integer NOT NULL,
    at bigint NOT NULL,
    kind smallint NOT NULL,
    queue integer NOT NULL,
    by text NOT NULL,
    expires_at bigint DEFAULT 0 NOT NULL,
    body bytea
);

COMMENT ON COLUMN public.change_20261126.kind IS '1 move to queue, 2 retry now, 3 cancel, 4 replace, 5 replay, 6 the receipt for the sender was given up';

COMMENT ON COLUMN public.change_20261126.by IS 'who ordered it';

COMMENT ON COLUMN public.change_20261126.expires_at IS 'of a replacement: not after, Unix milliseconds';

COMMENT ON COLUMN public.change_20261126.body IS 'of a replacement: protobuf smsc.v1.Replacement, empty when the text was erased since; of a replay: id of the new message, eight octets';

CREATE TABLE public.change_20261127 (
    id bigint NOT NULL,
    seq integer NOT NULL,
    at bigint NOT NULL,
    kind smallint NOT NULL,
    queue integer NOT NULL,
    by text NOT NULL,
    expires_at bigint DEFAULT 0 NOT NULL,
    body bytea
);

COMMENT ON COLUMN public.change_20261127.kind IS '1 move to queue, 2 retry now, 3 cancel, 4 replace, 5 replay, 6 the receipt for the sender was given up';

COMMENT ON COLUMN public.change_20261127.by IS 'who ordered it';

COMMENT ON COLUMN public.change_20261127.expires_at IS 'of a replacement: not after, Unix milliseconds';

COMMENT ON COLUMN public.change_20261127.body IS 'of a replacement: protobuf smsc.v1.Replacement, empty when the text was erased since; of a replay: id of the new message, eight octets';

CREATE TABLE public.change_20261128 (
    id bigint NOT NULL,
    seq integer NOT NULL,
    at bigint NOT NULL,
    kind smallint NOT NULL,
    queue integer NOT NULL,
    by text NOT NULL,
    expires_at bigint DEFAULT 0 NOT NULL,
    body bytea
);

COMMENT ON COLUMN public.change_20261128.kind IS '1 move to queue, 2 retry now, 3 cancel, 4 replace, 5 replay, 6 the receipt for the sender was given up';

COMMENT ON COLUMN public.change_20261128.by IS 'who ordered it';

COMMENT ON COLUMN public.change_20261128.expires_at IS 'of a replacement: not after, Unix milliseconds';

COMMENT ON COLUMN public.change_20261128.body IS 'of a replacement: protobuf smsc.v1.Replacement, empty when the text was erased since; of a replay: id of the new message, eight octets';

CREATE TABLE public.change_20261129 (
    id bigint NOT NULL,
    seq integer NOT NULL,
    at bigint NOT NULL,
    kind smallint NOT NULL,
    queue integer NOT NULL,
    by text NOT NULL,
    expires_at bigint DEFAULT 0 NOT NULL,
    body bytea
);

COMMENT ON COLUMN public.change_20261129.kind IS '1 move to queue, 2 retry now, 3 cancel, 4 replace, 5 replay, 6 the receipt for the sender was given up';

COMMENT ON COLUMN public.change_20261129.by IS 'who ordered it';

COMMENT ON COLUMN public.change_20261129.expires_at IS 'of a replacement: not after, Unix milliseconds';

COMMENT ON COLUMN public.change_20261129.body IS 'of a replacement: protobuf smsc.v1.Replacement, empty when the text was erased since; of a replay: id of the new message, eight octets';

CREATE TABLE public.change_20261130 (
    id bigint NOT NULL,
    seq integer NOT NULL,
    at bigint NOT NULL,
    kind smallint NOT NULL,
    queue integer NOT NULL,
    by text NOT NULL,
    expires_at bigint DEFAULT 0 NOT NULL,
    body bytea
);

COMMENT ON COLUMN public.change_20261130.kind IS '1 move to queue, 2 retry now, 3 cancel, 4 replace, 5 replay, 6 the receipt for the sender was given up';

COMMENT ON COLUMN public.change_20261130.by IS 'who ordered it';

COMMENT ON COLUMN public.change_20261130.expires_at IS 'of a replacement: not after, Unix milliseconds';

COMMENT ON COLUMN public.change_20261130.body IS 'of a replacement: protobuf smsc.v1.Replacement, empty when the text was erased since; of a replay: id of the new message, eight octets';

CREATE TABLE public.change_20261201 (
    id bigint NOT NULL,
    seq integer NOT NULL,
    at bigint NOT NULL,
    kind smallint NOT NULL,
    queue integer NOT NULL,
    by text NOT NULL,
    expires_at bigint DEFAULT 0 NOT NULL,
    body bytea
);

COMMENT ON COLUMN public.change_20261201.kind IS '1 move to queue, 2 retry now, 3 cancel, 4 replace, 5 replay, 6 the receipt for the sender was given up';

COMMENT ON COLUMN public.change_20261201.by IS 'who ordered it';

COMMENT ON COLUMN public.change_20261201.expires_at IS 'of a replacement: not after, Unix milliseconds';

COMMENT ON COLUMN public.change_20261201.body IS 'of a replacement: protobuf smsc.v1.Replacement, empty when the text was erased since; of a replay: id of the new message, eight octets';

CREATE TABLE public.change_default (
    id bigint NOT NULL,
    seq integer NOT NULL,
    at bigint NOT NULL,
    kind smallint NOT NULL,
    queue integer NOT NULL,
    by text NOT NULL,
    expires_at bigint DEFAULT 0 NOT NULL,
    body bytea
);

CREATE TABLE public.config_versions (
    version bigint NOT NULL,
    at bigint NOT NULL,
    who text NOT NULL,
    what text NOT NULL,
    changes text NOT NULL
);

CREATE TABLE public.dead (
    seq bigint NOT NULL,
    at bigint NOT NULL,
    origin text NOT NULL,
    id bigint NOT NULL,
    reason text NOT NULL,
    "row" bytea NOT NULL
);

COMMENT ON TABLE public.dead IS 'rows that could not be written; origin is the table they were for';

ALTER TABLE public.dead ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.dead_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.fin_20231114 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    state smallint NOT NULL,
    error text NOT NULL,
    operator integer NOT NULL,
    tell integer NOT NULL,
    done_at bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.fin_20231114.at IS 'when the end was known here, Unix milliseconds';

COMMENT ON COLUMN public.fin_20231114.state IS 'message_state of SMPP 3.4: 2 DELIVERED, 3 EXPIRED, 4 DELETED, 5 UNDELIVERABLE, 6 ACCEPTED, 7 UNKNOWN, 8 REJECTED';

COMMENT ON COLUMN public.fin_20231114.operator IS 'names.number of who reported it, 0 for ourselves';

COMMENT ON COLUMN public.fin_20231114.tell IS 'names.number of the account queue that must be told, 0 for nobody';

COMMENT ON COLUMN public.fin_20231114.done_at IS 'when the message ended, as the receipt of the operator says, Unix milliseconds; 0 when it does not';

CREATE TABLE public.fin_20261123 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    state smallint NOT NULL,
    error text NOT NULL,
    operator integer NOT NULL,
    tell integer NOT NULL,
    done_at bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.fin_20261123.at IS 'when the end was known here, Unix milliseconds';

COMMENT ON COLUMN public.fin_20261123.state IS 'message_state of SMPP 3.4: 2 DELIVERED, 3 EXPIRED, 4 DELETED, 5 UNDELIVERABLE, 6 ACCEPTED, 7 UNKNOWN, 8 REJECTED';

COMMENT ON COLUMN public.fin_20261123.operator IS 'names.number of who reported it, 0 for ourselves';

COMMENT ON COLUMN public.fin_20261123.tell IS 'names.number of the account queue that must be told, 0 for nobody';

COMMENT ON COLUMN public.fin_20261123.done_at IS 'when the message ended, as the receipt of the operator says, Unix milliseconds; 0 when it does not';

CREATE TABLE public.fin_20261124 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    state smallint NOT NULL,
    error text NOT NULL,
    operator integer NOT NULL,
    tell integer NOT NULL,
    done_at bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.fin_20261124.at IS 'when the end was known here, Unix milliseconds';

COMMENT ON COLUMN public.fin_20261124.state IS 'message_state of SMPP 3.4: 2 DELIVERED, 3 EXPIRED, 4 DELETED, 5 UNDELIVERABLE, 6 ACCEPTED, 7 UNKNOWN, 8 REJECTED';

COMMENT ON COLUMN public.fin_20261124.operator IS 'names.number of who reported it, 0 for ourselves';

COMMENT ON COLUMN public.fin_20261124.tell IS 'names.number of the account queue that must be told, 0 for nobody';

COMMENT ON COLUMN public.fin_20261124.done_at IS 'when the message ended, as the receipt of the operator says, Unix milliseconds; 0 when it does not';

CREATE TABLE public.fin_20261125 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    state smallint NOT NULL,
    error text NOT NULL,
    operator integer NOT NULL,
    tell integer NOT NULL,
    done_at bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.fin_20261125.at IS 'when the end was known here, Unix milliseconds';

COMMENT ON COLUMN public.fin_20261125.state IS 'message_state of SMPP 3.4: 2 DELIVERED, 3 EXPIRED, 4 DELETED, 5 UNDELIVERABLE, 6 ACCEPTED, 7 UNKNOWN, 8 REJECTED';

COMMENT ON COLUMN public.fin_20261125.operator IS 'names.number of who reported it, 0 for ourselves';

COMMENT ON COLUMN public.fin_20261125.tell IS 'names.number of the account queue that must be told, 0 for nobody';

COMMENT ON COLUMN public.fin_20261125.done_at IS 'when the message ended, as the receipt of the operator says, Unix milliseconds; 0 when it does not';

CREATE TABLE public.fin_20261126 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    state smallint NOT NULL,
    error text NOT NULL,
    operator integer NOT NULL,
    tell integer NOT NULL,
    done_at bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.fin_20261126.at IS 'when the end was known here, Unix milliseconds';

COMMENT ON COLUMN public.fin_20261126.state IS 'message_state of SMPP 3.4: 2 DELIVERED, 3 EXPIRED, 4 DELETED, 5 UNDELIVERABLE, 6 ACCEPTED, 7 UNKNOWN, 8 REJECTED';

COMMENT ON COLUMN public.fin_20261126.operator IS 'names.number of who reported it, 0 for ourselves';

COMMENT ON COLUMN public.fin_20261126.tell IS 'names.number of the account queue that must be told, 0 for nobody';

COMMENT ON COLUMN public.fin_20261126.done_at IS 'when the message ended, as the receipt of the operator says, Unix milliseconds; 0 when it does not';

CREATE TABLE public.fin_20261127 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    state smallint NOT NULL,
    error text NOT NULL,
    operator integer NOT NULL,
    tell integer NOT NULL,
    done_at bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.fin_20261127.at IS 'when the end was known here, Unix milliseconds';

COMMENT ON COLUMN public.fin_20261127.state IS 'message_state of SMPP 3.4: 2 DELIVERED, 3 EXPIRED, 4 DELETED, 5 UNDELIVERABLE, 6 ACCEPTED, 7 UNKNOWN, 8 REJECTED';

COMMENT ON COLUMN public.fin_20261127.operator IS 'names.number of who reported it, 0 for ourselves';

COMMENT ON COLUMN public.fin_20261127.tell IS 'names.number of the account queue that must be told, 0 for nobody';

COMMENT ON COLUMN public.fin_20261127.done_at IS 'when the message ended, as the receipt of the operator says, Unix milliseconds; 0 when it does not';

CREATE TABLE public.fin_20261128 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    state smallint NOT NULL,
    error text NOT NULL,
    operator integer NOT NULL,
    tell integer NOT NULL,
    done_at bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.fin_20261128.at IS 'when the end was known here, Unix milliseconds';

COMMENT ON COLUMN public.fin_20261128.state IS 'message_state of SMPP 3.4: 2 DELIVERED, 3 EXPIRED, 4 DELETED, 5 UNDELIVERABLE, 6 ACCEPTED, 7 UNKNOWN, 8 REJECTED';

COMMENT ON COLUMN public.fin_20261128.operator IS 'names.number of who reported it, 0 for ourselves';

COMMENT ON COLUMN public.fin_20261128.tell IS 'names.number of the account queue that must be told, 0 for nobody';

COMMENT ON COLUMN public.fin_20261128.done_at IS 'when the message ended, as the receipt of the operator says, Unix milliseconds; 0 when it does not';

CREATE TABLE public.fin_20261129 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    state smallint NOT NULL,
    error text NOT NULL,
    operator integer NOT NULL,
    tell integer NOT NULL,
    done_at bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.fin_20261129.at IS 'when the end was known here, Unix milliseconds';

COMMENT ON COLUMN public.fin_20261129.state IS 'message_state of SMPP 3.4: 2 DELIVERED, 3 EXPIRED, 4 DELETED, 5 UNDELIVERABLE, 6 ACCEPTED, 7 UNKNOWN, 8 REJECTED';

COMMENT ON COLUMN public.fin_20261129.operator IS 'names.number of who reported it, 0 for ourselves';

COMMENT ON COLUMN public.fin_20261129.tell IS 'names.number of the account queue that must be told, 0 for nobody';

COMMENT ON COLUMN public.fin_20261129.done_at IS 'when the message ended, as the receipt of the operator says, Unix milliseconds; 0 when it does not';

CREATE TABLE public.fin_20261130 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    state smallint NOT NULL,
    error text NOT NULL,
    operator integer NOT NULL,
    tell integer NOT NULL,
    done_at bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.fin_20261130.at IS 'when the end was known here, Unix milliseconds';

COMMENT ON COLUMN public.fin_20261130.state IS 'message_state of SMPP 3.4: 2 DELIVERED, 3 EXPIRED, 4 DELETED, 5 UNDELIVERABLE, 6 ACCEPTED, 7 UNKNOWN, 8 REJECTED';

COMMENT ON COLUMN public.fin_20261130.operator IS 'names.number of who reported it, 0 for ourselves';

COMMENT ON COLUMN public.fin_20261130.tell IS 'names.number of the account queue that must be told, 0 for nobody';

COMMENT ON COLUMN public.fin_20261130.done_at IS 'when the message ended, as the receipt of the operator says, Unix milliseconds; 0 when it does not';

CREATE TABLE public.fin_20261201 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    state smallint NOT NULL,
    error text NOT NULL,
    operator integer NOT NULL,
    tell integer NOT NULL,
    done_at bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.fin_20261201.at IS 'when the end was known here, Unix milliseconds';

COMMENT ON COLUMN public.fin_20261201.state IS 'message_state of SMPP 3.4: 2 DELIVERED, 3 EXPIRED, 4 DELETED, 5 UNDELIVERABLE, 6 ACCEPTED, 7 UNKNOWN, 8 REJECTED';

COMMENT ON COLUMN public.fin_20261201.operator IS 'names.number of who reported it, 0 for ourselves';

COMMENT ON COLUMN public.fin_20261201.tell IS 'names.number of the account queue that must be told, 0 for nobody';

COMMENT ON COLUMN public.fin_20261201.done_at IS 'when the message ended, as the receipt of the operator says, Unix milliseconds; 0 when it does not';

CREATE TABLE public.fin_default (
    id bigint NOT NULL,
    at bigint NOT NULL,
    state smallint NOT NULL,
    error text NOT NULL,
    operator integer NOT NULL,
    tell integer NOT NULL,
    done_at bigint DEFAULT 0 NOT NULL
);

CREATE TABLE public.ids_aside (
    node integer NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL
);

COMMENT ON TABLE public.ids_aside IS 'ranges of ids (with the node in bits 12 to 19) whose time is wrong';

CREATE TABLE public.inbox (
    queue integer NOT NULL,
    part smallint NOT NULL,
    seq bigint NOT NULL,
    items bytea NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='100000', toast_tuple_target='8160');
ALTER TABLE ONLY public.inbox ALTER COLUMN items SET STORAGE EXTERNAL;

COMMENT ON TABLE public.inbox IS 'work for the node that owns a partition of a queue, taken out by it';

COMMENT ON COLUMN public.inbox.items IS 'protobuf smsc.v1.Enqueue with what one commit brought for the partition, bodies included, so that the owner reads nothing else';

ALTER TABLE public.inbox ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.inbox_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.lane (
    node integer NOT NULL,
    epoch bigint NOT NULL,
    lane integer NOT NULL,
    seq bigint NOT NULL
)
WITH (fillfactor='20');

COMMENT ON TABLE public.lane IS 'one row per writing connection of a living node: every write of it updates its row first, so that deleting the rows of a node waits for its open writes and refuses its later ones';

COMMENT ON COLUMN public.lane.seq IS 'number of the last transaction that was committed';

CREATE TABLE public.lease (
    kind smallint NOT NULL,
    name integer NOT NULL,
    part integer NOT NULL,
    node smallint,
    epoch bigint,
    taken boolean DEFAULT false NOT NULL
)
WITH (fillfactor='70');

CREATE TABLE public.limits (
    name text NOT NULL,
    version bigint NOT NULL,
    body text NOT NULL
);

COMMENT ON TABLE public.limits IS 'body is JSON with the keys of [[limit]] that are not the default; changed by the admin API only';

CREATE TABLE public.lists (
    name text NOT NULL,
    version bigint NOT NULL,
    body text NOT NULL
);

COMMENT ON TABLE public.lists IS 'body is JSON with the keys of [[list]] that are not the default; changed by the admin API only';

CREATE TABLE public.meta (
    key text NOT NULL,
    value bigint NOT NULL
);

COMMENT ON TABLE public.meta IS 'low_water: restarts read from here on; carry_below: messages accepted below go to carry as well; highest_id: at least this was used';

CREATE TABLE public.msg_20231114 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    sender integer NOT NULL,
    queue integer NOT NULL,
    part smallint NOT NULL,
    priority integer NOT NULL,
    due_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    source text NOT NULL,
    destination text NOT NULL,
    numbering integer,
    payload_kind smallint NOT NULL,
    body bytea NOT NULL
);

COMMENT ON COLUMN public.msg_20231114.id IS 'Unix milliseconds << 20 | node << 12 | sequence';

COMMENT ON COLUMN public.msg_20231114.at IS 'accepted, Unix milliseconds';

COMMENT ON COLUMN public.msg_20231114.sender IS 'names.number of the account or operator that sent it';

COMMENT ON COLUMN public.msg_20231114.queue IS 'names.number of the queue that it was first routed to; moves are in change';

COMMENT ON COLUMN public.msg_20231114.part IS 'partition of the queue, from the destination';

COMMENT ON COLUMN public.msg_20231114.due_at IS 'not before, Unix milliseconds, 0 for at once';

COMMENT ON COLUMN public.msg_20231114.expires_at IS 'not after, Unix milliseconds';

COMMENT ON COLUMN public.msg_20231114.source IS 'sender address; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20231114.destination IS 'subscriber; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20231114.numbering IS 'TON and NPI of source, then of destination, one octet each, highest first; NULL when one does not fit and all are in body';

COMMENT ON COLUMN public.msg_20231114.payload_kind IS '1 SMPP submit_sm, 2 SMPP deliver_sm, 3 TPDU submit, 4 TPDU deliver';

COMMENT ON COLUMN public.msg_20231114.body IS 'protobuf smsc.v1.Message without the fields that are columns';

CREATE TABLE public.msg_20261123 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    sender integer NOT NULL,
    queue integer NOT NULL,
    part smallint NOT NULL,
    priority integer NOT NULL,
    due_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    source text NOT NULL,
    destination text NOT NULL,
    numbering integer,
    payload_kind smallint NOT NULL,
    body bytea NOT NULL
);

COMMENT ON COLUMN public.msg_20261123.id IS 'Unix milliseconds << 20 | node << 12 | sequence';

COMMENT ON COLUMN public.msg_20261123.at IS 'accepted, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261123.sender IS 'names.number of the account or operator that sent it';

COMMENT ON COLUMN public.msg_20261123.queue IS 'names.number of the queue that it was first routed to; moves are in change';

COMMENT ON COLUMN public.msg_20261123.part IS 'partition of the queue, from the destination';

COMMENT ON COLUMN public.msg_20261123.due_at IS 'not before, Unix milliseconds, 0 for at once';

COMMENT ON COLUMN public.msg_20261123.expires_at IS 'not after, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261123.source IS 'sender address; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261123.destination IS 'subscriber; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261123.numbering IS 'TON and NPI of source, then of destination, one octet each, highest first; NULL when one does not fit and all are in body';

COMMENT ON COLUMN public.msg_20261123.payload_kind IS '1 SMPP submit_sm, 2 SMPP deliver_sm, 3 TPDU submit, 4 TPDU deliver';

COMMENT ON COLUMN public.msg_20261123.body IS 'protobuf smsc.v1.Message without the fields that are columns';

CREATE TABLE public.msg_20261124 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    sender integer NOT NULL,
    queue integer NOT NULL,
    part smallint NOT NULL,
    priority integer NOT NULL,
    due_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    source text NOT NULL,
    destination text NOT NULL,
    numbering integer,
    payload_kind smallint NOT NULL,
    body bytea NOT NULL
);

COMMENT ON COLUMN public.msg_20261124.id IS 'Unix milliseconds << 20 | node << 12 | sequence';

COMMENT ON COLUMN public.msg_20261124.at IS 'accepted, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261124.sender IS 'names.number of the account or operator that sent it';

COMMENT ON COLUMN public.msg_20261124.queue IS 'names.number of the queue that it was first routed to; moves are in change';

COMMENT ON COLUMN public.msg_20261124.part IS 'partition of the queue, from the destination';

COMMENT ON COLUMN public.msg_20261124.due_at IS 'not before, Unix milliseconds, 0 for at once';

COMMENT ON COLUMN public.msg_20261124.expires_at IS 'not after, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261124.source IS 'sender address; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261124.destination IS 'subscriber; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261124.numbering IS 'TON and NPI of source, then of destination, one octet each, highest first; NULL when one does not fit and all are in body';

COMMENT ON COLUMN public.msg_20261124.payload_kind IS '1 SMPP submit_sm, 2 SMPP deliver_sm, 3 TPDU submit, 4 TPDU deliver';

COMMENT ON COLUMN public.msg_20261124.body IS 'protobuf smsc.v1.Message without the fields that are columns';

CREATE TABLE public.msg_20261125 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    sender integer NOT NULL,
    queue integer NOT NULL,
    part smallint NOT NULL,
    priority integer NOT NULL,
    due_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    source text NOT NULL,
    destination text NOT NULL,
    numbering integer,
    payload_kind smallint NOT NULL,
    body bytea NOT NULL
);

COMMENT ON COLUMN public.msg_20261125.id IS 'Unix milliseconds << 20 | node << 12 | sequence';

COMMENT ON COLUMN public.msg_20261125.at IS 'accepted, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261125.sender IS 'names.number of the account or operator that sent it';

COMMENT ON COLUMN public.msg_20261125.queue IS 'names.number of the queue that it was first routed to; moves are in change';

COMMENT ON COLUMN public.msg_20261125.part IS 'partition of the queue, from the destination';

COMMENT ON COLUMN public.msg_20261125.due_at IS 'not before, Unix milliseconds, 0 for at once';

COMMENT ON COLUMN public.msg_20261125.expires_at IS 'not after, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261125.source IS 'sender address; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261125.destination IS 'subscriber; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261125.numbering IS 'TON and NPI of source, then of destination, one octet each, highest first; NULL when one does not fit and all are in body';

COMMENT ON COLUMN public.msg_20261125.payload_kind IS '1 SMPP submit_sm, 2 SMPP deliver_sm, 3 TPDU submit, 4 TPDU deliver';

COMMENT ON COLUMN public.msg_20261125.body IS 'protobuf smsc.v1.Message without the fields that are columns';

CREATE TABLE public.msg_20261126 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    sender integer NOT NULL,
    queue integer NOT NULL,
    part smallint NOT NULL,
    priority integer NOT NULL,
    due_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    source text NOT NULL,
    destination text NOT NULL,
    numbering integer,
    payload_kind smallint NOT NULL,
    body bytea NOT NULL
);

COMMENT ON COLUMN public.msg_20261126.id IS 'Unix milliseconds << 20 | node << 12 | sequence';

COMMENT ON COLUMN public.msg_20261126.at IS 'accepted, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261126.sender IS 'names.number of the account or operator that sent it';

COMMENT ON COLUMN public.msg_20261126.queue IS 'names.number of the queue that it was first routed to; moves are in change';

COMMENT ON COLUMN public.msg_20261126.part IS 'partition of the queue, from the destination';

COMMENT ON COLUMN public.msg_20261126.due_at IS 'not before, Unix milliseconds, 0 for at once';

COMMENT ON COLUMN public.msg_20261126.expires_at IS 'not after, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261126.source IS 'sender address; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261126.destination IS 'subscriber; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261126.numbering IS 'TON and NPI of source, then of destination, one octet each, highest first; NULL when one does not fit and all are in body';

COMMENT ON COLUMN public.msg_20261126.payload_kind IS '1 SMPP submit_sm, 2 SMPP deliver_sm, 3 TPDU submit, 4 TPDU deliver';

COMMENT ON COLUMN public.msg_20261126.body IS 'protobuf smsc.v1.Message without the fields that are columns';

CREATE TABLE public.msg_20261127 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    sender integer NOT NULL,
    queue integer NOT NULL,
    part smallint NOT NULL,
    priority integer NOT NULL,
    due_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    source text NOT NULL,
    destination text NOT NULL,
    numbering integer,
    payload_kind smallint NOT NULL,
    body bytea NOT NULL
);

COMMENT ON COLUMN public.msg_20261127.id IS 'Unix milliseconds << 20 | node << 12 | sequence';

COMMENT ON COLUMN public.msg_20261127.at IS 'accepted, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261127.sender IS 'names.number of the account or operator that sent it';

COMMENT ON COLUMN public.msg_20261127.queue IS 'names.number of the queue that it was first routed to; moves are in change';

COMMENT ON COLUMN public.msg_20261127.part IS 'partition of the queue, from the destination';

COMMENT ON COLUMN public.msg_20261127.due_at IS 'not before, Unix milliseconds, 0 for at once';

COMMENT ON COLUMN public.msg_20261127.expires_at IS 'not after, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261127.source IS 'sender address; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261127.destination IS 'subscriber; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261127.numbering IS 'TON and NPI of source, then of destination, one octet each, highest first; NULL when one does not fit and all are in body';

COMMENT ON COLUMN public.msg_20261127.payload_kind IS '1 SMPP submit_sm, 2 SMPP deliver_sm, 3 TPDU submit, 4 TPDU deliver';

COMMENT ON COLUMN public.msg_20261127.body IS 'protobuf smsc.v1.Message without the fields that are columns';

CREATE TABLE public.msg_20261128 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    sender integer NOT NULL,
    queue integer NOT NULL,
    part smallint NOT NULL,
    priority integer NOT NULL,
    due_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    source text NOT NULL,
    destination text NOT NULL,
    numbering integer,
    payload_kind smallint NOT NULL,
    body bytea NOT NULL
);

COMMENT ON COLUMN public.msg_20261128.id IS 'Unix milliseconds << 20 | node << 12 | sequence';

COMMENT ON COLUMN public.msg_20261128.at IS 'accepted, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261128.sender IS 'names.number of the account or operator that sent it';

COMMENT ON COLUMN public.msg_20261128.queue IS 'names.number of the queue that it was first routed to; moves are in change';

COMMENT ON COLUMN public.msg_20261128.part IS 'partition of the queue, from the destination';

COMMENT ON COLUMN public.msg_20261128.due_at IS 'not before, Unix milliseconds, 0 for at once';

COMMENT ON COLUMN public.msg_20261128.expires_at IS 'not after, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261128.source IS 'sender address; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261128.destination IS 'subscriber; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261128.numbering IS 'TON and NPI of source, then of destination, one octet each, highest first; NULL when one does not fit and all are in body';

COMMENT ON COLUMN public.msg_20261128.payload_kind IS '1 SMPP submit_sm, 2 SMPP deliver_sm, 3 TPDU submit, 4 TPDU deliver';

COMMENT ON COLUMN public.msg_20261128.body IS 'protobuf smsc.v1.Message without the fields that are columns';

CREATE TABLE public.msg_20261129 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    sender integer NOT NULL,
    queue integer NOT NULL,
    part smallint NOT NULL,
    priority integer NOT NULL,
    due_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    source text NOT NULL,
    destination text NOT NULL,
    numbering integer,
    payload_kind smallint NOT NULL,
    body bytea NOT NULL
);

COMMENT ON COLUMN public.msg_20261129.id IS 'Unix milliseconds << 20 | node << 12 | sequence';

COMMENT ON COLUMN public.msg_20261129.at IS 'accepted, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261129.sender IS 'names.number of the account or operator that sent it';

COMMENT ON COLUMN public.msg_20261129.queue IS 'names.number of the queue that it was first routed to; moves are in change';

COMMENT ON COLUMN public.msg_20261129.part IS 'partition of the queue, from the destination';

COMMENT ON COLUMN public.msg_20261129.due_at IS 'not before, Unix milliseconds, 0 for at once';

COMMENT ON COLUMN public.msg_20261129.expires_at IS 'not after, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261129.source IS 'sender address; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261129.destination IS 'subscriber; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261129.numbering IS 'TON and NPI of source, then of destination, one octet each, highest first; NULL when one does not fit and all are in body';

COMMENT ON COLUMN public.msg_20261129.payload_kind IS '1 SMPP submit_sm, 2 SMPP deliver_sm, 3 TPDU submit, 4 TPDU deliver';

COMMENT ON COLUMN public.msg_20261129.body IS 'protobuf smsc.v1.Message without the fields that are columns';

CREATE TABLE public.msg_20261130 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    sender integer NOT NULL,
    queue integer NOT NULL,
    part smallint NOT NULL,
    priority integer NOT NULL,
    due_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    source text NOT NULL,
    destination text NOT NULL,
    numbering integer,
    payload_kind smallint NOT NULL,
    body bytea NOT NULL
);

COMMENT ON COLUMN public.msg_20261130.id IS 'Unix milliseconds << 20 | node << 12 | sequence';

COMMENT ON COLUMN public.msg_20261130.at IS 'accepted, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261130.sender IS 'names.number of the account or operator that sent it';

COMMENT ON COLUMN public.msg_20261130.queue IS 'names.number of the queue that it was first routed to; moves are in change';

COMMENT ON COLUMN public.msg_20261130.part IS 'partition of the queue, from the destination';

COMMENT ON COLUMN public.msg_20261130.due_at IS 'not before, Unix milliseconds, 0 for at once';

COMMENT ON COLUMN public.msg_20261130.expires_at IS 'not after, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261130.source IS 'sender address; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261130.destination IS 'subscriber; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261130.numbering IS 'TON and NPI of source, then of destination, one octet each, highest first; NULL when one does not fit and all are in body';

COMMENT ON COLUMN public.msg_20261130.payload_kind IS '1 SMPP submit_sm, 2 SMPP deliver_sm, 3 TPDU submit, 4 TPDU deliver';

COMMENT ON COLUMN public.msg_20261130.body IS 'protobuf smsc.v1.Message without the fields that are columns';

CREATE TABLE public.msg_20261201 (
    id bigint NOT NULL,
    at bigint NOT NULL,
    sender integer NOT NULL,
    queue integer NOT NULL,
    part smallint NOT NULL,
    priority integer NOT NULL,
    due_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    source text NOT NULL,
    destination text NOT NULL,
    numbering integer,
    payload_kind smallint NOT NULL,
    body bytea NOT NULL
);

COMMENT ON COLUMN public.msg_20261201.id IS 'Unix milliseconds << 20 | node << 12 | sequence';

COMMENT ON COLUMN public.msg_20261201.at IS 'accepted, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261201.sender IS 'names.number of the account or operator that sent it';

COMMENT ON COLUMN public.msg_20261201.queue IS 'names.number of the queue that it was first routed to; moves are in change';

COMMENT ON COLUMN public.msg_20261201.part IS 'partition of the queue, from the destination';

COMMENT ON COLUMN public.msg_20261201.due_at IS 'not before, Unix milliseconds, 0 for at once';

COMMENT ON COLUMN public.msg_20261201.expires_at IS 'not after, Unix milliseconds';

COMMENT ON COLUMN public.msg_20261201.source IS 'sender address; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261201.destination IS 'subscriber; \x and digits when it is no clean text';

COMMENT ON COLUMN public.msg_20261201.numbering IS 'TON and NPI of source, then of destination, one octet each, highest first; NULL when one does not fit and all are in body';

COMMENT ON COLUMN public.msg_20261201.payload_kind IS '1 SMPP submit_sm, 2 SMPP deliver_sm, 3 TPDU submit, 4 TPDU deliver';

COMMENT ON COLUMN public.msg_20261201.body IS 'protobuf smsc.v1.Message without the fields that are columns';

CREATE TABLE public.msg_default (
    id bigint NOT NULL,
    at bigint NOT NULL,
    sender integer NOT NULL,
    queue integer NOT NULL,
    part smallint NOT NULL,
    priority integer NOT NULL,
    due_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    source text NOT NULL,
    destination text NOT NULL,
    numbering integer,
    payload_kind smallint NOT NULL,
    body bytea NOT NULL
);

CREATE TABLE public.names (
    number integer NOT NULL,
    name text NOT NULL
);

COMMENT ON TABLE public.names IS 'numbers that stand for queues and senders in other tables';

CREATE TABLE public.node (
    node smallint NOT NULL,
    epoch bigint NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    since timestamp with time zone NOT NULL,
    card jsonb NOT NULL
)
WITH (fillfactor='50');

CREATE SEQUENCE public.node_epoch
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.operators (
    name text NOT NULL,
    version bigint NOT NULL,
    body text NOT NULL
);

COMMENT ON TABLE public.operators IS 'body is JSON with the keys of [[operator]] that are not the default; changed by the admin API only';

CREATE TABLE public.opt_out (
    account text NOT NULL,
    number text NOT NULL,
    "out" boolean NOT NULL,
    at bigint NOT NULL,
    who text NOT NULL,
    version bigint NOT NULL
);

COMMENT ON TABLE public.opt_out IS 'numbers that want no messages of an account, or of anybody (account empty); out false: off the list again, kept for a day so that every node hears of it';

CREATE TABLE public.opt_out_version (
    one boolean DEFAULT true NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT opt_out_version_one_check CHECK (one)
);

CREATE TABLE public.orders (
    seq bigint NOT NULL,
    node smallint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    body bytea NOT NULL
);

COMMENT ON TABLE public.orders IS 'commands of the admin API for other nodes; body is protobuf smsc.v1.Order';

ALTER TABLE public.orders ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.orders_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.parked (
    id bigint NOT NULL,
    operator integer NOT NULL,
    operator_message_id text NOT NULL,
    at bigint NOT NULL,
    receipt bytea NOT NULL
);

COMMENT ON TABLE public.parked IS 'receipts that matched no message when they came';

CREATE TABLE public.policies (
    name text NOT NULL,
    version bigint NOT NULL,
    body text NOT NULL
);

COMMENT ON TABLE public.policies IS 'the only row is all; body is JSON with the keys of [policy] that are not the default; changed by the admin API only';

CREATE TABLE public.purse (
    account integer NOT NULL,
    day integer NOT NULL,
    credits bigint NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE public.purse IS 'what no node has reserved. day 0: the prepaid balance, in credits. Otherwise days since 1970 by UTC: the quota of that day, in segments, counted from 0 downwards';

CREATE TABLE public.purse_block (
    account integer NOT NULL,
    day integer NOT NULL,
    node smallint NOT NULL,
    epoch bigint NOT NULL,
    lane integer NOT NULL,
    credits bigint NOT NULL,
    number bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE public.purse_block IS 'what nodes have reserved of a purse. Lane -1: what the node has taken less what it gave back, and the number of the order that did so last; other lanes: what each has spent, below zero. The sum over lanes is left of the block';

CREATE TABLE public.refinery_schema_history (
    version integer NOT NULL,
    name character varying(255),
    applied_on character varying(255),
    checksum character varying(255)
);

CREATE TABLE public.retry (
    id bigint NOT NULL,
    due_at bigint NOT NULL,
    attempts integer NOT NULL
)
WITH (fillfactor='70');

COMMENT ON TABLE public.retry IS 'when a waiting message is due again; gone when it is handed over or final';

CREATE TABLE public.routes (
    name text NOT NULL,
    version bigint NOT NULL,
    body text NOT NULL
);

COMMENT ON TABLE public.routes IS 'body is JSON with the keys of [[route]] that are not the default; changed by the admin API only';

CREATE TABLE public.sent_20231114 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL,
    status integer NOT NULL,
    operator_message_id text NOT NULL,
    latency_ms integer NOT NULL,
    correlation bigint NOT NULL,
    bind bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.sent_20231114.at IS 'of the answer or the timeout, Unix milliseconds';

COMMENT ON COLUMN public.sent_20231114.operator IS 'names.number of the queue that it was sent to';

COMMENT ON COLUMN public.sent_20231114.status IS 'command_status of the answer, -1 when none came';

COMMENT ON COLUMN public.sent_20231114.operator_message_id IS 'as received; \x and digits when it is no clean text';

COMMENT ON COLUMN public.sent_20231114.correlation IS 'hash by which a receipt finds the attempt, 0 for none';

COMMENT ON COLUMN public.sent_20231114.bind IS 'the session that it went by: node << 48 | session, 0 for none';

CREATE TABLE public.sent_20261123 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL,
    status integer NOT NULL,
    operator_message_id text NOT NULL,
    latency_ms integer NOT NULL,
    correlation bigint NOT NULL,
    bind bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.sent_20261123.at IS 'of the answer or the timeout, Unix milliseconds';

COMMENT ON COLUMN public.sent_20261123.operator IS 'names.number of the queue that it was sent to';

COMMENT ON COLUMN public.sent_20261123.status IS 'command_status of the answer, -1 when none came';

COMMENT ON COLUMN public.sent_20261123.operator_message_id IS 'as received; \x and digits when it is no clean text';

COMMENT ON COLUMN public.sent_20261123.correlation IS 'hash by which a receipt finds the attempt, 0 for none';

COMMENT ON COLUMN public.sent_20261123.bind IS 'the session that it went by: node << 48 | session, 0 for none';

CREATE TABLE public.sent_20261124 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL,
    status integer NOT NULL,
    operator_message_id text NOT NULL,
    latency_ms integer NOT NULL,
    correlation bigint NOT NULL,
    bind bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.sent_20261124.at IS 'of the answer or the timeout, Unix milliseconds';

COMMENT ON COLUMN public.sent_20261124.operator IS 'names.number of the queue that it was sent to';

COMMENT ON COLUMN public.sent_20261124.status IS 'command_status of the answer, -1 when none came';

COMMENT ON COLUMN public.sent_20261124.operator_message_id IS 'as received; \x and digits when it is no clean text';

COMMENT ON COLUMN public.sent_20261124.correlation IS 'hash by which a receipt finds the attempt, 0 for none';

COMMENT ON COLUMN public.sent_20261124.bind IS 'the session that it went by: node << 48 | session, 0 for none';

CREATE TABLE public.sent_20261125 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL,
    status integer NOT NULL,
    operator_message_id text NOT NULL,
    latency_ms integer NOT NULL,
    correlation bigint NOT NULL,
    bind bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.sent_20261125.at IS 'of the answer or the timeout, Unix milliseconds';

COMMENT ON COLUMN public.sent_20261125.operator IS 'names.number of the queue that it was sent to';

COMMENT ON COLUMN public.sent_20261125.status IS 'command_status of the answer, -1 when none came';

COMMENT ON COLUMN public.sent_20261125.operator_message_id IS 'as received; \x and digits when it is no clean text';

COMMENT ON COLUMN public.sent_20261125.correlation IS 'hash by which a receipt finds the attempt, 0 for none';

COMMENT ON COLUMN public.sent_20261125.bind IS 'the session that it went by: node << 48 | session, 0 for none';

CREATE TABLE public.sent_20261126 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL,
    status integer NOT NULL,
    operator_message_id text NOT NULL,
    latency_ms integer NOT NULL,
    correlation bigint NOT NULL,
    bind bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.sent_20261126.at IS 'of the answer or the timeout, Unix milliseconds';

COMMENT ON COLUMN public.sent_20261126.operator IS 'names.number of the queue that it was sent to';

COMMENT ON COLUMN public.sent_20261126.status IS 'command_status of the answer, -1 when none came';

COMMENT ON COLUMN public.sent_20261126.operator_message_id IS 'as received; \x and digits when it is no clean text';

COMMENT ON COLUMN public.sent_20261126.correlation IS 'hash by which a receipt finds the attempt, 0 for none';

COMMENT ON COLUMN public.sent_20261126.bind IS 'the session that it went by: node << 48 | session, 0 for none';

CREATE TABLE public.sent_20261127 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL,
    status integer NOT NULL,
    operator_message_id text NOT NULL,
    latency_ms integer NOT NULL,
    correlation bigint NOT NULL,
    bind bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.sent_20261127.at IS 'of the answer or the timeout, Unix milliseconds';

COMMENT ON COLUMN public.sent_20261127.operator IS 'names.number of the queue that it was sent to';

COMMENT ON COLUMN public.sent_20261127.status IS 'command_status of the answer, -1 when none came';

COMMENT ON COLUMN public.sent_20261127.operator_message_id IS 'as received; \x and digits when it is no clean text';

COMMENT ON COLUMN public.sent_20261127.correlation IS 'hash by which a receipt finds the attempt, 0 for none';

COMMENT ON COLUMN public.sent_20261127.bind IS 'the session that it went by: node << 48 | session, 0 for none';

CREATE TABLE public.sent_20261128 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL,
    status integer NOT NULL,
    operator_message_id text NOT NULL,
    latency_ms integer NOT NULL,
    correlation bigint NOT NULL,
    bind bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.sent_20261128.at IS 'of the answer or the timeout, Unix milliseconds';

COMMENT ON COLUMN public.sent_20261128.operator IS 'names.number of the queue that it was sent to';

COMMENT ON COLUMN public.sent_20261128.status IS 'command_status of the answer, -1 when none came';

COMMENT ON COLUMN public.sent_20261128.operator_message_id IS 'as received; \x and digits when it is no clean text';

COMMENT ON COLUMN public.sent_20261128.correlation IS 'hash by which a receipt finds the attempt, 0 for none';

COMMENT ON COLUMN public.sent_20261128.bind IS 'the session that it went by: node << 48 | session, 0 for none';

CREATE TABLE public.sent_20261129 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL,
    status integer NOT NULL,
    operator_message_id text NOT NULL,
    latency_ms integer NOT NULL,
    correlation bigint NOT NULL,
    bind bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.sent_20261129.at IS 'of the answer or the timeout, Unix milliseconds';

COMMENT ON COLUMN public.sent_20261129.operator IS 'names.number of the queue that it was sent to';

COMMENT ON COLUMN public.sent_20261129.status IS 'command_status of the answer, -1 when none came';

COMMENT ON COLUMN public.sent_20261129.operator_message_id IS 'as received; \x and digits when it is no clean text';

COMMENT ON COLUMN public.sent_20261129.correlation IS 'hash by which a receipt finds the attempt, 0 for none';

COMMENT ON COLUMN public.sent_20261129.bind IS 'the session that it went by: node << 48 | session, 0 for none';

CREATE TABLE public.sent_20261130 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL,
    status integer NOT NULL,
    operator_message_id text NOT NULL,
    latency_ms integer NOT NULL,
    correlation bigint NOT NULL,
    bind bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.sent_20261130.at IS 'of the answer or the timeout, Unix milliseconds';

COMMENT ON COLUMN public.sent_20261130.operator IS 'names.number of the queue that it was sent to';

COMMENT ON COLUMN public.sent_20261130.status IS 'command_status of the answer, -1 when none came';

COMMENT ON COLUMN public.sent_20261130.operator_message_id IS 'as received; \x and digits when it is no clean text';

COMMENT ON COLUMN public.sent_20261130.correlation IS 'hash by which a receipt finds the attempt, 0 for none';

COMMENT ON COLUMN public.sent_20261130.bind IS 'the session that it went by: node << 48 | session, 0 for none';

CREATE TABLE public.sent_20261201 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL,
    status integer NOT NULL,
    operator_message_id text NOT NULL,
    latency_ms integer NOT NULL,
    correlation bigint NOT NULL,
    bind bigint DEFAULT 0 NOT NULL
);

COMMENT ON COLUMN public.sent_20261201.at IS 'of the answer or the timeout, Unix milliseconds';

COMMENT ON COLUMN public.sent_20261201.operator IS 'names.number of the queue that it was sent to';

COMMENT ON COLUMN public.sent_20261201.status IS 'command_status of the answer, -1 when none came';

COMMENT ON COLUMN public.sent_20261201.operator_message_id IS 'as received; \x and digits when it is no clean text';

COMMENT ON COLUMN public.sent_20261201.correlation IS 'hash by which a receipt finds the attempt, 0 for none';

COMMENT ON COLUMN public.sent_20261201.bind IS 'the session that it went by: node << 48 | session, 0 for none';

CREATE TABLE public.sent_default (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL,
    status integer NOT NULL,
    operator_message_id text NOT NULL,
    latency_ms integer NOT NULL,
    correlation bigint NOT NULL,
    bind bigint DEFAULT 0 NOT NULL
);

CREATE UNLOGGED TABLE public.spill (
    node integer NOT NULL,
    queue integer NOT NULL,
    block bigint NOT NULL,
    octets bytea NOT NULL
);

COMMENT ON TABLE public.spill IS 'blocks of long waiting lists that a node keeps out of its memory';

CREATE TABLE public.text_left (
    id bigint NOT NULL
);

COMMENT ON TABLE public.text_left IS 'messages below meta.text_upto that were active, or had ended too late, when their text was to be erased';

CREATE TABLE public.tokens (
    name text NOT NULL,
    hash bytea NOT NULL,
    role text NOT NULL,
    created_at bigint NOT NULL,
    created_by text NOT NULL,
    expires_at bigint NOT NULL,
    used_at bigint NOT NULL
);

COMMENT ON TABLE public.tokens IS 'tokens of the admin API; expires_at 0 for never';

CREATE TABLE public.told_20231114 (
    id bigint NOT NULL
);

CREATE TABLE public.told_20261123 (
    id bigint NOT NULL
);

CREATE TABLE public.told_20261124 (
    id bigint NOT NULL
);

CREATE TABLE public.told_20261125 (
    id bigint NOT NULL
);

CREATE TABLE public.told_20261126 (
    id bigint NOT NULL
);

CREATE TABLE public.told_20261127 (
    id bigint NOT NULL
);

CREATE TABLE public.told_20261128 (
    id bigint NOT NULL
);

CREATE TABLE public.told_20261129 (
    id bigint NOT NULL
);

CREATE TABLE public.told_20261130 (
    id bigint NOT NULL
);

CREATE TABLE public.told_20261201 (
    id bigint NOT NULL
);

CREATE TABLE public.told_default (
    id bigint NOT NULL
);

CREATE TABLE public.top_ups (
    id bigint NOT NULL,
    account integer NOT NULL,
    amount bigint NOT NULL,
    reference text,
    by text NOT NULL
);

COMMENT ON TABLE public.top_ups IS 'what was added to balances, or taken from them by a correction';

CREATE TABLE public.tries (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL
)
PARTITION BY RANGE (id);

COMMENT ON TABLE public.tries IS 'attempts about to be made, where one without an answer must not be repeated blindly';

CREATE TABLE public.tries_20231114 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL
);

CREATE TABLE public.tries_20261123 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL
);

CREATE TABLE public.tries_20261124 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL
);

CREATE TABLE public.tries_20261125 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL
);

CREATE TABLE public.tries_20261126 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL
);

CREATE TABLE public.tries_20261127 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL
);

CREATE TABLE public.tries_20261128 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL
);

CREATE TABLE public.tries_20261129 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL
);

CREATE TABLE public.tries_20261130 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL
);

CREATE TABLE public.tries_20261201 (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL
);

CREATE TABLE public.tries_default (
    id bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    operator integer NOT NULL
);

CREATE TABLE public.unfinished (
    account integer NOT NULL,
    node smallint NOT NULL,
    count bigint NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE public.unfinished IS 'what each node has accepted of an account less what it has ended, added up every heartbeat; the sum over nodes counts. Node -1: what counting them has found, less what the nodes had said by then';

CREATE TABLE smpp.message_correlations (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    message_id uuid NOT NULL,
    operator_message_id character varying(64) NOT NULL,
    operator_id uuid NOT NULL,
    destination character varying(20) NOT NULL,
    submitted_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    dlr_received_at timestamp with time zone,
    status character varying(20) DEFAULT 'SUBMITTED'::character varying NOT NULL
);

COMMENT ON COLUMN smpp.message_correlations.message_id IS 'version 8: made of the id of msg';

COMMENT ON COLUMN smpp.message_correlations.operator_id IS 'version 5: made of the name of the operator';

COMMENT ON COLUMN smpp.message_correlations.dlr_received_at IS 'when the receipt arrived';

ALTER TABLE ONLY public.change ATTACH PARTITION public.change_20231114 FOR VALUES FROM ('1782495313920000000') TO ('1782585910886400000');

ALTER TABLE ONLY public.change ATTACH PARTITION public.change_20261123 FOR VALUES FROM ('1882604961792000000') TO ('1882695558758400000');

ALTER TABLE ONLY public.change ATTACH PARTITION public.change_20261124 FOR VALUES FROM ('1882695558758400000') TO ('1882786155724800000');

ALTER TABLE ONLY public.change ATTACH PARTITION public.change_20261125 FOR VALUES FROM ('1882786155724800000') TO ('1882876752691200000');

ALTER TABLE ONLY public.change ATTACH PARTITION public.change_20261126 FOR VALUES FROM ('1882876752691200000') TO ('1882967349657600000');

ALTER TABLE ONLY public.change ATTACH PARTITION public.change_20261127 FOR VALUES FROM ('1882967349657600000') TO ('1883057946624000000');

ALTER TABLE ONLY public.change ATTACH PARTITION public.change_20261128 FOR VALUES FROM ('1883057946624000000') TO ('1883148543590400000');

ALTER TABLE ONLY public.change ATTACH PARTITION public.change_20261129 FOR VALUES FROM ('1883148543590400000') TO ('1883239140556800000');

ALTER TABLE ONLY public.change ATTACH PARTITION public.change_20261130 FOR VALUES FROM ('1883239140556800000') TO ('1883329737523200000');

ALTER TABLE ONLY public.change ATTACH PARTITION public.change_20261201 FOR VALUES FROM ('1883329737523200000') TO ('1883420334489600000');

ALTER TABLE ONLY public.change ATTACH PARTITION public.change_default DEFAULT;

ALTER TABLE ONLY public.fin ATTACH PARTITION public.fin_20231114 FOR VALUES FROM ('1782495313920000000') TO ('1782585910886400000');

ALTER TABLE ONLY public.fin ATTACH PARTITION public.fin_20261123 FOR VALUES FROM ('1882604961792000000') TO ('1882695558758400000');

ALTER TABLE ONLY public.fin ATTACH PARTITION public.fin_20261124 FOR VALUES FROM ('1882695558758400000') TO ('1882786155724800000');

ALTER TABLE ONLY public.fin ATTACH PARTITION public.fin_20261125 FOR VALUES FROM ('1882786155724800000') TO ('1882876752691200000');

ALTER TABLE ONLY public.fin ATTACH PARTITION public.fin_20261126 FOR VALUES FROM ('1882876752691200000') TO ('1882967349657600000');

ALTER TABLE ONLY public.fin ATTACH PARTITION public.fin_20261127 FOR VALUES FROM ('1882967349657600000') TO ('1883057946624000000');

ALTER TABLE ONLY public.fin ATTACH PARTITION public.fin_20261128 FOR VALUES FROM ('1883057946624000000') TO ('1883148543590400000');

ALTER TABLE ONLY public.fin ATTACH PARTITION public.fin_20261129 FOR VALUES FROM ('1883148543590400000') TO ('1883239140556800000');

ALTER TABLE ONLY public.fin ATTACH PARTITION public.fin_20261130 FOR VALUES FROM ('1883239140556800000') TO ('1883329737523200000');

ALTER TABLE ONLY public.fin ATTACH PARTITION public.fin_20261201 FOR VALUES FROM ('1883329737523200000') TO ('1883420334489600000');

ALTER TABLE ONLY public.fin ATTACH PARTITION public.fin_default DEFAULT;

ALTER TABLE ONLY public.msg ATTACH PARTITION public.msg_20231114 FOR VALUES FROM ('1782495313920000000') TO ('1782585910886400000');

ALTER TABLE ONLY public.msg ATTACH PARTITION public.msg_20261123 FOR VALUES FROM ('1882604961792000000') TO ('1882695558758400000');

ALTER TABLE ONLY public.msg ATTACH PARTITION public.msg_20261124 FOR VALUES FROM ('1882695558758400000') TO ('1882786155724800000');

ALTER TABLE ONLY public.msg ATTACH PARTITION public.msg_20261125 FOR VALUES FROM ('1882786155724800000') TO ('1882876752691200000');

ALTER TABLE ONLY public.msg ATTACH PARTITION public.msg_20261126 FOR VALUES FROM ('1882876752691200000') TO ('1882967349657600000');

ALTER TABLE ONLY public.msg ATTACH PARTITION public.msg_20261127 FOR VALUES FROM ('1882967349657600000') TO ('1883057946624000000');

ALTER TABLE ONLY public.msg ATTACH PARTITION public.msg_20261128 FOR VALUES FROM ('1883057946624000000') TO ('1883148543590400000');

ALTER TABLE ONLY public.msg ATTACH PARTITION public.msg_20261129 FOR VALUES FROM ('1883148543590400000') TO ('1883239140556800000');

ALTER TABLE ONLY public.msg ATTACH PARTITION public.msg_20261130 FOR VALUES FROM ('1883239140556800000') TO ('1883329737523200000');

ALTER TABLE ONLY public.msg ATTACH PARTITION public.msg_20261201 FOR VALUES FROM ('1883329737523200000') TO ('1883420334489600000');

ALTER TABLE ONLY public.msg ATTACH PARTITION public.msg_default DEFAULT;

ALTER TABLE ONLY public.sent ATTACH PARTITION public.sent_20231114 FOR VALUES FROM ('1782495313920000000') TO ('1782585910886400000');

ALTER TABLE ONLY public.sent ATTACH PARTITION public.sent_20261123 FOR VALUES FROM ('1882604961792000000') TO ('1882695558758400000');

ALTER TABLE ONLY public.sent ATTACH PARTITION public.sent_20261124 FOR VALUES FROM ('1882695558758400000') TO ('1882786155724800000');

ALTER TABLE ONLY public.sent ATTACH PARTITION public.sent_20261125 FOR VALUES FROM ('1882786155724800000') TO ('1882876752691200000');

ALTER TABLE ONLY public.sent ATTACH PARTITION public.sent_20261126 FOR VALUES FROM ('1882876752691200000') TO ('1882967349657600000');

ALTER TABLE ONLY public.sent ATTACH PARTITION public.sent_20261127 FOR VALUES FROM ('1882967349657600000') TO ('1883057946624000000');

ALTER TABLE ONLY public.sent ATTACH PARTITION public.sent_20261128 FOR VALUES FROM ('1883057946624000000') TO ('1883148543590400000');

ALTER TABLE ONLY public.sent ATTACH PARTITION public.sent_20261129 FOR VALUES FROM ('1883148543590400000') TO ('1883239140556800000');

ALTER TABLE ONLY public.sent ATTACH PARTITION public.sent_20261130 FOR VALUES FROM ('1883239140556800000') TO ('1883329737523200000');

ALTER TABLE ONLY public.sent ATTACH PARTITION public.sent_20261201 FOR VALUES FROM ('1883329737523200000') TO ('1883420334489600000');

ALTER TABLE ONLY public.sent ATTACH PARTITION public.sent_default DEFAULT;

ALTER TABLE ONLY public.told ATTACH PARTITION public.told_20231114 FOR VALUES FROM ('1782495313920000000') TO ('1782585910886400000');

ALTER TABLE ONLY public.told ATTACH PARTITION public.told_20261123 FOR VALUES FROM ('1882604961792000000') TO ('1882695558758400000');

ALTER TABLE ONLY public.told ATTACH PARTITION public.told_20261124 FOR VALUES FROM ('1882695558758400000') TO ('1882786155724800000');

ALTER TABLE ONLY public.told ATTACH PARTITION public.told_20261125 FOR VALUES FROM ('1882786155724800000') TO ('1882876752691200000');

ALTER TABLE ONLY public.told ATTACH PARTITION public.told_20261126 FOR VALUES FROM ('1882876752691200000') TO ('1882967349657600000');

ALTER TABLE ONLY public.told ATTACH PARTITION public.told_20261127 FOR VALUES FROM ('1882967349657600000') TO ('1883057946624000000');

ALTER TABLE ONLY public.told ATTACH PARTITION public.told_20261128 FOR VALUES FROM ('1883057946624000000') TO ('1883148543590400000');

ALTER TABLE ONLY public.told ATTACH PARTITION public.told_20261129 FOR VALUES FROM ('1883148543590400000') TO ('1883239140556800000');

ALTER TABLE ONLY public.told ATTACH PARTITION public.told_20261130 FOR VALUES FROM ('1883239140556800000') TO ('1883329737523200000');

ALTER TABLE ONLY public.told ATTACH PARTITION public.told_20261201 FOR VALUES FROM ('1883329737523200000') TO ('1883420334489600000');

ALTER TABLE ONLY public.told ATTACH PARTITION public.told_default DEFAULT;

ALTER TABLE ONLY public.tries ATTACH PARTITION public.tries_20231114 FOR VALUES FROM ('1782495313920000000') TO ('1782585910886400000');

ALTER TABLE ONLY public.tries ATTACH PARTITION public.tries_20261123 FOR VALUES FROM ('1882604961792000000') TO ('1882695558758400000');

ALTER TABLE ONLY public.tries ATTACH PARTITION public.tries_20261124 FOR VALUES FROM ('1882695558758400000') TO ('1882786155724800000');

ALTER TABLE ONLY public.tries ATTACH PARTITION public.tries_20261125 FOR VALUES FROM ('1882786155724800000') TO ('1882876752691200000');

ALTER TABLE ONLY public.tries ATTACH PARTITION public.tries_20261126 FOR VALUES FROM ('1882876752691200000') TO ('1882967349657600000');

ALTER TABLE ONLY public.tries ATTACH PARTITION public.tries_20261127 FOR VALUES FROM ('1882967349657600000') TO ('1883057946624000000');

ALTER TABLE ONLY public.tries ATTACH PARTITION public.tries_20261128 FOR VALUES FROM ('1883057946624000000') TO ('1883148543590400000');

ALTER TABLE ONLY public.tries ATTACH PARTITION public.tries_20261129 FOR VALUES FROM ('1883148543590400000') TO ('1883239140556800000');

ALTER TABLE ONLY public.tries ATTACH PARTITION public.tries_20261130 FOR VALUES FROM ('1883239140556800000') TO ('1883329737523200000');

ALTER TABLE ONLY public.tries ATTACH PARTITION public.tries_20261201 FOR VALUES FROM ('1883329737523200000') TO ('1883420334489600000');

ALTER TABLE ONLY public.tries ATTACH PARTITION public.tries_default DEFAULT;

INSERT INTO public.accounts VALUES ('news', 1, '{"password":"secret","senders":["list:brands"],"system_id":"news"}');
INSERT INTO public.accounts VALUES ('shop', 1, '{"max_binds":64,"password":"secret","prepaid":true,"quota_per_day":100000,"system_id":"shop"}');

INSERT INTO public.audit VALUES (1882700370812076032, 'admin token', 'admin', '127.0.0.1', 'POST', '/v1/messages/1882700370807881728/cancel', 200, 0, '');
INSERT INTO public.audit VALUES (1882700370799493121, 'admin token', 'admin', '127.0.0.1', 'POST', '/v1/accounts/shop/balance', 200, 0, '');
INSERT INTO public.audit VALUES (1882700370798444545, 'admin token', 'admin', '127.0.0.1', 'POST', '/v1/accounts/shop/balance', 200, 0, '');
INSERT INTO public.audit VALUES (1882700370797395968, 'admin token', 'admin', '127.0.0.1', 'DELETE', '/v1/opt-outs/4477*****003', 200, 0, '');
INSERT INTO public.audit VALUES (1882700370796347392, 'admin token', 'admin', '127.0.0.1', 'PUT', '/v1/opt-outs/4477*****003', 200, 0, '');
INSERT INTO public.audit VALUES (1882700370795298816, 'admin token', 'admin', '127.0.0.1', 'PUT', '/v1/opt-outs/4477*****002', 200, 0, '');
INSERT INTO public.audit VALUES (1882700370794250240, 'admin token', 'admin', '127.0.0.1', 'PUT', '/v1/opt-outs/4477*****001', 200, 0, '');
INSERT INTO public.audit VALUES (1882700370793201664, 'admin token', 'admin', '127.0.0.1', 'POST', '/v1/tokens', 201, 0, 'token ops, role operate');
INSERT INTO public.audit VALUES (1882700370792153088, 'admin token', 'admin', '127.0.0.1', 'POST', '/v1/tokens', 201, 0, 'token reader, role read');
INSERT INTO public.audit VALUES (1882700370790055936, 'admin token', 'admin', '127.0.0.1', 'PUT', '/v1/routes/vip', 201, 0, '');
INSERT INTO public.audit VALUES (1882700370772230144, 'admin token', 'admin', '127.0.0.1', 'PUT', '/v1/operators/exact/rate', 200, 0, '');

INSERT INTO public.carry VALUES (1782581825634308096);
INSERT INTO public.carry VALUES (1782581826682884096);
INSERT INTO public.carry VALUES (1782581827731460096);
INSERT INTO public.carry VALUES (1782581828780036096);
INSERT INTO public.carry VALUES (1782581829828612096);
INSERT INTO public.carry VALUES (1782581830877188096);
INSERT INTO public.carry VALUES (1782581831925764096);
INSERT INTO public.carry VALUES (1782581832974340096);
INSERT INTO public.carry VALUES (1782581834022916096);
INSERT INTO public.carry VALUES (1782581835071492096);
INSERT INTO public.carry VALUES (1782581836120068096);
INSERT INTO public.carry VALUES (1782581837168644096);
INSERT INTO public.carry VALUES (1782581838217220096);
INSERT INTO public.carry VALUES (1782581839265796096);
INSERT INTO public.carry VALUES (1782581840314372096);
INSERT INTO public.carry VALUES (1782581841362948096);
INSERT INTO public.carry VALUES (1782581842411524096);
INSERT INTO public.carry VALUES (1782581843460100096);
INSERT INTO public.carry VALUES (1782581844508676096);
INSERT INTO public.carry VALUES (1782581845557252096);
INSERT INTO public.carry VALUES (1782581846605828096);
INSERT INTO public.carry VALUES (1782581847654404096);
INSERT INTO public.carry VALUES (1782581848702980096);
INSERT INTO public.carry VALUES (1782581849751556096);
INSERT INTO public.carry VALUES (1782581850800132096);
INSERT INTO public.carry VALUES (1782581851848708096);
INSERT INTO public.carry VALUES (1782581852897284096);
INSERT INTO public.carry VALUES (1782581853945860096);
INSERT INTO public.carry VALUES (1782581854994436096);
INSERT INTO public.carry VALUES (1782581856043012096);
INSERT INTO public.carry VALUES (1782581857091588096);
INSERT INTO public.carry VALUES (1782581858140164096);
INSERT INTO public.carry VALUES (1782581859188740096);
INSERT INTO public.carry VALUES (1782581860237316096);
INSERT INTO public.carry VALUES (1782581861285892096);
INSERT INTO public.carry VALUES (1782581862334468096);
INSERT INTO public.carry VALUES (1782581863383044096);
INSERT INTO public.carry VALUES (1782581864431620096);
INSERT INTO public.carry VALUES (1782581865480196096);
INSERT INTO public.carry VALUES (1782581866528772096);
INSERT INTO public.carry VALUES (1782581867577348096);
INSERT INTO public.carry VALUES (1782581868625924096);
INSERT INTO public.carry VALUES (1782581869674500096);
INSERT INTO public.carry VALUES (1782581870723076096);
INSERT INTO public.carry VALUES (1782581871771652096);
INSERT INTO public.carry VALUES (1782581872820228096);
INSERT INTO public.carry VALUES (1782581873868804096);
INSERT INTO public.carry VALUES (1782581874917380096);
INSERT INTO public.carry VALUES (1782581875965956096);
INSERT INTO public.carry VALUES (1782581926297604096);
INSERT INTO public.carry VALUES (1782581927346180096);
INSERT INTO public.carry VALUES (1782581928394756096);
INSERT INTO public.carry VALUES (1782581929443332096);
INSERT INTO public.carry VALUES (1782581930491908096);
INSERT INTO public.carry VALUES (1782581931540484096);
INSERT INTO public.carry VALUES (1782581932589060096);
INSERT INTO public.carry VALUES (1782581933637636096);
INSERT INTO public.carry VALUES (1782581934686212096);

INSERT INTO public.change_20231114 VALUES (1782581828780036096, 1, 1700002507200, 3, 0, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581829828612096, 1, 1700002508200, 1, 9, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581829828612096, 2, 1700002508200, 2, 0, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581829828612096, 3, 1700002508200, 4, 0, 'token:ops', 4102444800000, '\x080712087265706c6163656430016080b08fe6b277');
INSERT INTO public.change_20231114 VALUES (1782581829828612096, 4, 1700002508200, 1, 8, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581839265796096, 1, 1700002517200, 3, 0, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581840314372096, 1, 1700002518200, 1, 9, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581840314372096, 2, 1700002518200, 2, 0, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581840314372096, 3, 1700002518200, 4, 0, 'token:ops', 4102444800000, '\x080712087265706c6163656430016080b08fe6b277');
INSERT INTO public.change_20231114 VALUES (1782581840314372096, 4, 1700002518200, 1, 8, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581849751556096, 1, 1700002527200, 3, 0, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581850800132096, 1, 1700002528200, 1, 9, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581850800132096, 2, 1700002528200, 2, 0, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581850800132096, 3, 1700002528200, 4, 0, 'token:ops', 4102444800000, '\x080712087265706c6163656430016080b08fe6b277');
INSERT INTO public.change_20231114 VALUES (1782581850800132096, 4, 1700002528200, 1, 8, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581860237316096, 1, 1700002537200, 3, 0, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581861285892096, 1, 1700002538200, 1, 9, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581861285892096, 2, 1700002538200, 2, 0, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581861285892096, 3, 1700002538200, 4, 0, 'token:ops', 4102444800000, '\x080712087265706c6163656430016080b08fe6b277');
INSERT INTO public.change_20231114 VALUES (1782581861285892096, 4, 1700002538200, 1, 8, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581870723076096, 1, 1700002547200, 3, 0, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581871771652096, 1, 1700002548200, 1, 9, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581871771652096, 2, 1700002548200, 2, 0, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581871771652096, 3, 1700002548200, 4, 0, 'token:ops', 4102444800000, '\x080712087265706c6163656430016080b08fe6b277');
INSERT INTO public.change_20231114 VALUES (1782581871771652096, 4, 1700002548200, 1, 8, 'token:ops', 0, '\x');
INSERT INTO public.change_20231114 VALUES (1782581929443332096, 1, 1700002604000, 5, 0, 'token:ops', 0, '\x18bd00d23e001000');
INSERT INTO public.change_20231114 VALUES (1782581931540484096, 1, 1700002607000, 6, 0, 'validity.receipts', 0, '\x');

INSERT INTO public.change_20261124 VALUES (1882700370807881728, 1, 1795482989129, 3, 8, 'admin token from 127.0.0.1:44166', 0, '\x');

INSERT INTO public.config_versions VALUES (3, 1795482989109, 'admin token from 127.0.0.1:44166', 'route vip added', '[{"key":{"kind":"route","name":"vip"},"before":null,"after":"{\"account\":\"news\",\"name\":\"vip\",\"prefix\":\"4477\",\"to\":[{\"exact\":70,\"loose\":30}]}"}]');
INSERT INTO public.config_versions VALUES (2, 1795482989087, 'admin token from 127.0.0.1:44166', 'operator exact changed', '[{"key":{"kind":"operator","name":"exact"},"before":"{\"address\":\"127.0.0.1:9\",\"id\":\"exact\",\"long_messages\":\"udh\",\"message_id\":\"as_is\",\"password\":\"secret\",\"reconnect\":[\"200ms\"],\"system_id\":\"smsc\"}","after":"{\"address\":\"127.0.0.1:9\",\"id\":\"exact\",\"long_messages\":\"udh\",\"message_id\":\"as_is\",\"password\":\"secret\",\"rate\":5000,\"reconnect\":[\"200ms\"],\"system_id\":\"smsc\"}"}]');
INSERT INTO public.config_versions VALUES (1, 1795482988987, 'smsc.toml', 'the first start: taken from the file: 2 accounts added, 2 operators added, 2 routes added, list brands added, limit calm added, policy all added', '[{"key":{"kind":"account","name":"news"},"before":null,"after":"{\"password\":\"secret\",\"senders\":[\"list:brands\"],\"system_id\":\"news\"}"},{"key":{"kind":"account","name":"shop"},"before":null,"after":"{\"max_binds\":64,\"password\":\"secret\",\"prepaid\":true,\"quota_per_day\":100000,\"system_id\":\"shop\"}"},{"key":{"kind":"operator","name":"exact"},"before":null,"after":"{\"address\":\"127.0.0.1:9\",\"id\":\"exact\",\"long_messages\":\"udh\",\"message_id\":\"as_is\",\"password\":\"secret\",\"reconnect\":[\"200ms\"],\"system_id\":\"smsc\"}"},{"key":{"kind":"operator","name":"loose"},"before":null,"after":"{\"address\":\"127.0.0.1:10\",\"id\":\"loose\",\"password\":\"secret\",\"reconnect\":[\"200ms\"],\"system_id\":\"smsc\"}"},{"key":{"kind":"route","name":"49"},"before":null,"after":"{\"prefix\":\"49\",\"to\":[\"loose\"]}"},{"key":{"kind":"route","name":"default"},"before":null,"after":"{\"to\":[\"exact\"]}"},{"key":{"kind":"list","name":"brands"},"before":null,"after":"{\"entries\":[\"ACME\"],\"name\":\"brands\"}"},{"key":{"kind":"limit","name":"calm"},"before":null,"after":"{\"name\":\"calm\",\"per\":\"destination\",\"rate\":1000}"},{"key":{"kind":"policy","name":"all"},"before":null,"after":"{\"opt_out_keywords\":[\"STOP\"],\"prices\":{\"49\":3,\"default\":1}}"}]');

INSERT INTO public.dead OVERRIDING SYSTEM VALUE VALUES (1, 1795482989282, 'msg', 0, 'id 0 is out of range', '\x1007180828ebd795ffbc3138e8c7c8d1bd3148055a045c7834316801720c343437373030393030303031880101900101a00108b2011000000000000000010000000000000001ba0106020400020909');

INSERT INTO public.fin_20231114 VALUES (1782579201048580096, 1700000001500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579202097156096, 1700000002500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579203145732096, 1700000003500, 2, '001', 9, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579204194308096, 1700000004500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579205242884096, 1700000005500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579206291460096, 1700000006500, 2, '001', 9, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579207340036096, 1700000007500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579208388612096, 1700000008500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579209437188096, 1700000009500, 2, '001', 9, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579210485764096, 1700000010500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579211534340096, 1700000011500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579212582916096, 1700000012500, 2, '001', 9, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579213631492096, 1700000013500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579214680068096, 1700000014500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579215728644096, 1700000015500, 2, '001', 9, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579216777220096, 1700000016500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579217825796096, 1700000017500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579218874372096, 1700000018500, 2, '001', 9, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579219922948096, 1700000019500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579220971524096, 1700000020500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579222020100096, 1700000021500, 2, '001', 9, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579223068676096, 1700000022500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579224117252096, 1700000023500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579225165828096, 1700000024500, 2, '001', 9, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579226214404096, 1700000025500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579227262980096, 1700000026500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579228311556096, 1700000027500, 2, '001', 9, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579229360132096, 1700000028500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782579231457284096, 1700000030500, 2, '001', 9, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782581826682884096, 1700002505500, 2, '001', 9, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782581827731460096, 1700002506500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782581828780036096, 1700002507500, 4, '001', 0, 0, 0);
INSERT INTO public.fin_20231114 VALUES (1782581837168644096, 1700002515500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782581838217220096, 1700002516500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782581839265796096, 1700002517500, 4, '001', 0, 0, 0);
INSERT INTO public.fin_20231114 VALUES (1782581847654404096, 1700002525500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782581848702980096, 1700002526500, 2, '001', 9, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782581849751556096, 1700002527500, 4, '001', 0, 0, 0);
INSERT INTO public.fin_20231114 VALUES (1782581858140164096, 1700002535500, 2, '001', 9, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782581859188740096, 1700002536500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782581860237316096, 1700002537500, 4, '001', 0, 0, 0);
INSERT INTO public.fin_20231114 VALUES (1782581868625924096, 1700002545500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782581869674500096, 1700002546500, 2, '001', 8, 7, 0);
INSERT INTO public.fin_20231114 VALUES (1782581870723076096, 1700002547500, 4, '001', 0, 0, 0);
INSERT INTO public.fin_20231114 VALUES (1782581926297604096, 1700002600900, 2, '0A1F', 8, 7, 1700002600800);
INSERT INTO public.fin_20231114 VALUES (1782581927346180096, 1700002601900, 2, '0A1F', 8, 0, 1700002601800);
INSERT INTO public.fin_20231114 VALUES (1782581928394756096, 1700002602900, 2, '0A1F', 8, 0, 1700002602800);
INSERT INTO public.fin_20231114 VALUES (1782581929443332096, 1700002603900, 5, '0A1F', 8, 7, 1700002603800);
INSERT INTO public.fin_20231114 VALUES (1782581930491908096, 1700002604900, 6, '0A1F', 8, 7, 1700002604800);
INSERT INTO public.fin_20231114 VALUES (1782581931540484096, 1700002605900, 7, '0A1F', 8, 7, 1700002605800);
INSERT INTO public.fin_20231114 VALUES (1782581932589060096, 1700002606900, 2, '0A1F', 8, 0, 1700002606800);
INSERT INTO public.fin_20231114 VALUES (1782581933637636096, 1700002607900, 3, '0A1F', 8, 0, 1700002607800);
INSERT INTO public.fin_20231114 VALUES (1782581934686212096, 1700002608900, 8, '0A1F', 8, 0, 1700002608800);

INSERT INTO public.fin_20261124 VALUES (1882700370807881728, 1795482989129, 4, '', 0, 7, 0);

INSERT INTO public.ids_aside VALUES (200, 4300000000000000000, 4300000000000000009);

INSERT INTO public.inbox OVERRIDING SYSTEM VALUE VALUES (7, 255, 1, '\x0a0f0880a08094a197c0de18100140ff01');
INSERT INTO public.inbox OVERRIDING SYSTEM VALUE VALUES (8, 21, 2, '\x0a0c0880a080f0ac97c0de184015');

INSERT INTO public.lane VALUES (0, 0, 1, 0);
INSERT INTO public.lane VALUES (0, 0, 0, 1);

INSERT INTO public.limits VALUES ('calm', 1, '{"name":"calm","per":"destination","rate":1000}');

INSERT INTO public.lists VALUES ('brands', 1, '{"entries":["ACME"],"name":"brands"}');

INSERT INTO public.meta VALUES ('message_id_form:9', 1);
INSERT INTO public.meta VALUES ('move_rows_msg', 95);
INSERT INTO public.meta VALUES ('move_rows_sent', 64);
INSERT INTO public.meta VALUES ('move_rows_fin', 54);
INSERT INTO public.meta VALUES ('move_rows_told', 38);
INSERT INTO public.meta VALUES ('move_rows_retry', 11);
INSERT INTO public.meta VALUES ('move_rows_tries', 5);
INSERT INTO public.meta VALUES ('move_rows_change', 28);
INSERT INTO public.meta VALUES ('move_rows_carry', 58);
INSERT INTO public.meta VALUES ('move_rows_parked', 3);
INSERT INTO public.meta VALUES ('move_rows_dead', 1);
INSERT INTO public.meta VALUES ('move_rows_accounts', 2);
INSERT INTO public.meta VALUES ('move_rows_operators', 2);
INSERT INTO public.meta VALUES ('move_rows_routes', 3);
INSERT INTO public.meta VALUES ('move_rows_lists', 1);
INSERT INTO public.meta VALUES ('move_rows_limits', 1);
INSERT INTO public.meta VALUES ('move_rows_policies', 1);
INSERT INTO public.meta VALUES ('move_rows_config_versions', 3);
INSERT INTO public.meta VALUES ('move_rows_opt_out', 3);
INSERT INTO public.meta VALUES ('move_rows_purse', 2);
INSERT INTO public.meta VALUES ('move_rows_top_ups', 2);
INSERT INTO public.meta VALUES ('move_highest', 1882700370807881728);
INSERT INTO public.meta VALUES ('move_msg', 9223372036854775807);
INSERT INTO public.meta VALUES ('move_carry', 9223372036854775807);
INSERT INTO public.meta VALUES ('move_parked', 9223372036854775807);
INSERT INTO public.meta VALUES ('move_dead', 9223372036854775807);
INSERT INTO public.meta VALUES ('move_opt_out', 9223372036854775807);
INSERT INTO public.meta VALUES ('highest_id', 1882700370807881728);
INSERT INTO public.meta VALUES ('carry_below', 0);
INSERT INTO public.meta VALUES ('low_water', 0);
INSERT INTO public.meta VALUES ('move_ended', 1795482990612);

INSERT INTO public.msg_20231114 VALUES (1782579201048580096, 1700000001003, 7, 8, 30, 1, 0, 1700172801000, '\x5c783431', '447700900001', 83886081, 1, '\x900101a00108b2011000000000000000010000000000000001ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579202097156096, 1700000002003, 7, 8, 8, 2, 0, 1700172802000, 'Grüße', '447700900002', 83886081, 1, '\x900101a00108b20118000000000000000200000000000000020000000000000002ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579203145732096, 1700000003003, 7, 9, 6, 3, 0, 1700172803000, 'Grüße', '447700900003', 83886081, 1, '\x900101a00108b201200000000000000003000000000000000300000000000000030000000000000003ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579204194308096, 1700000004003, 7, 8, 28, 0, 0, 1700172804000, '\xfffe00', '447700900004', 83886081, 1, '\x900101a00108b2012800000000000000040000000000000004000000000000000400000000000000040000000000000004ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579205242884096, 1700000005003, 7, 8, 21, 1, 0, 1700172805000, '\x5c783431', '447700900005', NULL, 1, '\x48ac026801900101a00108b20130000000000000000500000000000000050000000000000005000000000000000500000000000000050000000000000005ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579206291460096, 1700000006003, 7, 9, 24, 2, 0, 1700172806000, 'Grüße', '447700900006', 83886081, 1, '\x900101a00108b201380000000000000006000000000000000600000000000000060000000000000006000000000000000600000000000000060000000000000006ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579207340036096, 1700000007003, 7, 8, 7, 3, 0, 1700172807000, 'Grüße', '447700900007', 83886081, 2, '\x2001900101a00108b2014000000000000000070000000000000007000000000000000700000000000000070000000000000007000000000000000700000000000000070000000000000007ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579208388612096, 1700000008003, 7, 8, 2, 0, 0, 1700172808000, '\xfffe00', '447700900008', 83886081, 1, '\x900101a00108b20148000000000000000800000000000000080000000000000008000000000000000800000000000000080000000000000008000000000000000800000000000000080000000000000008ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579209437188096, 1700000009003, 7, 9, 16, 1, 0, 1700172809000, '\x5c783431', '447700900009', 83886081, 1, '\x900101a00108b201500000000000000009000000000000000900000000000000090000000000000009000000000000000900000000000000090000000000000009000000000000000900000000000000090000000000000009ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579210485764096, 1700000010003, 7, 8, 4, 2, 0, 1700172810000, 'Grüße', '447700900010', NULL, 1, '\x48ac026801900101a00108b20158000000000000000a000000000000000a000000000000000a000000000000000a000000000000000a000000000000000a000000000000000a000000000000000a000000000000000a000000000000000a000000000000000aba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579211534340096, 1700000011003, 7, 8, 25, 3, 0, 1700172811000, 'Grüße', '447700900011', 83886081, 1, '\x900101a00108b20160000000000000000b000000000000000b000000000000000b000000000000000b000000000000000b000000000000000b000000000000000b000000000000000b000000000000000b000000000000000b000000000000000b000000000000000bba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579212582916096, 1700000012003, 7, 9, 9, 0, 0, 1700172812000, '\xfffe00', '447700900012', 83886081, 1, '\x900101a00108b20168000000000000000c000000000000000c000000000000000c000000000000000c000000000000000c000000000000000c000000000000000c000000000000000c000000000000000c000000000000000c000000000000000c000000000000000c000000000000000cba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579213631492096, 1700000013003, 7, 8, 4, 1, 0, 1700172813000, '\x5c783431', '447700900013', 83886081, 1, '\x900101a00108b20170000000000000000d000000000000000d000000000000000d000000000000000d000000000000000d000000000000000d000000000000000d000000000000000d000000000000000d000000000000000d000000000000000d000000000000000d000000000000000d000000000000000dba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579214680068096, 1700000014003, 7, 8, 1, 2, 0, 1700172814000, 'Grüße', '447700900014', 83886081, 2, '\x2001900101a00108b20178000000000000000e000000000000000e000000000000000e000000000000000e000000000000000e000000000000000e000000000000000e000000000000000e000000000000000e000000000000000e000000000000000e000000000000000e000000000000000e000000000000000e000000000000000eba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579215728644096, 1700000015003, 7, 9, 15, 3, 0, 1700172815000, 'Grüße', '447700900015', NULL, 1, '\x48ac026801900101a00108b2018001000000000000000f000000000000000f000000000000000f000000000000000f000000000000000f000000000000000f000000000000000f000000000000000f000000000000000f000000000000000f000000000000000f000000000000000f000000000000000f000000000000000f000000000000000f000000000000000fba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579216777220096, 1700000016003, 7, 8, 9, 0, 0, 1700172816000, '\xfffe00', '447700900016', 83886081, 1, '\x900101a00108b201880100000000000000100000000000000010000000000000001000000000000000100000000000000010000000000000001000000000000000100000000000000010000000000000001000000000000000100000000000000010000000000000001000000000000000100000000000000010000000000000001000000000000000100000000000000010ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579217825796096, 1700000017003, 7, 8, 17, 1, 0, 1700172817000, '\x5c783431', '447700900017', 83886081, 1, '\x900101a00108b2019001000000000000001100000000000000110000000000000011000000000000001100000000000000110000000000000011000000000000001100000000000000110000000000000011000000000000001100000000000000110000000000000011000000000000001100000000000000110000000000000011000000000000001100000000000000110000000000000011ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579218874372096, 1700000018003, 7, 9, 7, 2, 0, 1700172818000, 'Grüße', '447700900018', 83886081, 1, '\x900101a00108b20198010000000000000012000000000000001200000000000000120000000000000012000000000000001200000000000000120000000000000012000000000000001200000000000000120000000000000012000000000000001200000000000000120000000000000012000000000000001200000000000000120000000000000012000000000000001200000000000000120000000000000012ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579219922948096, 1700000019003, 7, 8, 13, 3, 0, 1700172819000, 'Grüße', '447700900019', 83886081, 1, '\x900101a00108b201a00100000000000000130000000000000013000000000000001300000000000000130000000000000013000000000000001300000000000000130000000000000013000000000000001300000000000000130000000000000013000000000000001300000000000000130000000000000013000000000000001300000000000000130000000000000013000000000000001300000000000000130000000000000013ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579220971524096, 1700000020003, 7, 8, 19, 0, 0, 1700172820000, '\xfffe00', '447700900020', NULL, 1, '\x48ac026801900101a00108b201080000000000000014ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579222020100096, 1700000021003, 7, 9, 0, 1, 0, 1700172821000, '\x5c783431', '447700900021', 83886081, 2, '\x2001900101a00108b2011000000000000000150000000000000015ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579223068676096, 1700000022003, 7, 8, 6, 2, 0, 1700172822000, 'Grüße', '447700900022', 83886081, 1, '\x900101a00108b20118000000000000001600000000000000160000000000000016ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579224117252096, 1700000023003, 7, 8, 12, 3, 0, 1700172823000, 'Grüße', '447700900023', 83886081, 1, '\x900101a00108b201200000000000000017000000000000001700000000000000170000000000000017ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579225165828096, 1700000024003, 7, 9, 1, 0, 0, 1700172824000, '\xfffe00', '447700900024', 83886081, 1, '\x900101a00108b2012800000000000000180000000000000018000000000000001800000000000000180000000000000018ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579226214404096, 1700000025003, 7, 8, 22, 1, 0, 1700172825000, '\x5c783431', '447700900025', NULL, 1, '\x48ac026801900101a00108b20130000000000000001900000000000000190000000000000019000000000000001900000000000000190000000000000019ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579227262980096, 1700000026003, 7, 8, 24, 2, 0, 1700172826000, 'Grüße', '447700900026', 83886081, 1, '\x900101a00108b20138000000000000001a000000000000001a000000000000001a000000000000001a000000000000001a000000000000001a000000000000001aba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579228311556096, 1700000027003, 7, 9, 27, 3, 0, 1700172827000, 'Grüße', '447700900027', 83886081, 1, '\x900101a00108b20140000000000000001b000000000000001b000000000000001b000000000000001b000000000000001b000000000000001b000000000000001b000000000000001bba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579229360132096, 1700000028003, 7, 8, 4, 0, 0, 1700172828000, '\xfffe00', '447700900028', 83886081, 2, '\x2001900101a00108b20148000000000000001c000000000000001c000000000000001c000000000000001c000000000000001c000000000000001c000000000000001c000000000000001c000000000000001cba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782579230408708096, 1700000029003, 7, 8, 16, 1, 0, 4102444800000, '12345', '447700900029', 16777473, 1, '\x900101b2010774657874203239');
INSERT INTO public.msg_20231114 VALUES (1782579231457284096, 1700000030003, 7, 9, 3, 2, 0, 1700172830000, 'Grüße', '447700900030', NULL, 1, '\x48ac026801900101a00108b20158000000000000001e000000000000001e000000000000001e000000000000001e000000000000001e000000000000001e000000000000001e000000000000001e000000000000001e000000000000001e000000000000001eba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782581825634308096, 1700002504003, 7, 8, 26, 0, 0, 4102444800000, '12345', '447700902504', 16777473, 1, '\x900101b20109746578742032353034');
INSERT INTO public.msg_20231114 VALUES (1782581826682884096, 1700002505003, 7, 9, 0, 1, 0, 4102444800000, '12345', '447700902505', 16777473, 1, '\x900101b20109746578742032353035');
INSERT INTO public.msg_20231114 VALUES (1782581827731460096, 1700002506003, 7, 8, 17, 2, 0, 1700175306000, 'Grüße', '447700902506', 83886081, 2, '\x2001900101a00108b2013800000000000009ca00000000000009ca00000000000009ca00000000000009ca00000000000009ca00000000000009ca00000000000009caba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782581828780036096, 1700002507003, 7, 8, 25, 3, 0, 1700175307000, 'Grüße', '447700902507', 83886081, 1, '\x900101a00108b2014000000000000009cb00000000000009cb00000000000009cb00000000000009cb00000000000009cb00000000000009cb00000000000009cb00000000000009cbba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782581829828612096, 1700002508003, 7, 9, 21, 0, 0, 4102444800000, '12345', '447700902508', 16777473, 1, '\x900101b20109746578742032353038');
INSERT INTO public.msg_20231114 VALUES (1782581830877188096, 1700002509003, 7, 8, 11, 1, 0, 4102444800000, '12345', '447700902509', 16777473, 1, '\x900101b20109746578742032353039');
INSERT INTO public.msg_20231114 VALUES (1782581831925764096, 1700002510003, 7, 8, 27, 2, 0, 4102444800000, '12345', '447700902510', 16777473, 1, '\x900101b20109746578742032353130');
INSERT INTO public.msg_20231114 VALUES (1782581832974340096, 1700002511003, 7, 9, 27, 3, 4070908800000, 4102444800000, '12345', '447700902511', 16777473, 1, '\x900101b20109746578742032353131');
INSERT INTO public.msg_20231114 VALUES (1782581834022916096, 1700002512003, 7, 8, 18, 0, 0, 4102444800000, '12345', '447700902512', 16777473, 1, '\x900101b20109746578742032353132');
INSERT INTO public.msg_20231114 VALUES (1782581835071492096, 1700002513003, 7, 8, 15, 1, 0, 4102444800000, '12345', '447700902513', 16777473, 1, '\x900101b20109746578742032353133');
INSERT INTO public.msg_20231114 VALUES (1782581836120068096, 1700002514003, 7, 9, 27, 2, 0, 4102444800000, '12345', '447700902514', 16777473, 1, '\x900101b20109746578742032353134');
INSERT INTO public.msg_20231114 VALUES (1782581837168644096, 1700002515003, 7, 8, 27, 3, 0, 4102444800000, '12345', '447700902515', 16777473, 1, '\x900101b20109746578742032353135');
INSERT INTO public.msg_20231114 VALUES (1782581838217220096, 1700002516003, 7, 8, 9, 0, 0, 1700175316000, '\xfffe00', '447700902516', 83886081, 1, '\x900101a00108b201880100000000000009d400000000000009d400000000000009d400000000000009d400000000000009d400000000000009d400000000000009d400000000000009d400000000000009d400000000000009d400000000000009d400000000000009d400000000000009d400000000000009d400000000000009d400000000000009d400000000000009d4ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782581839265796096, 1700002517003, 7, 9, 20, 1, 0, 1700175317000, '\x5c783431', '447700902517', 83886081, 1, '\x900101a00108b201900100000000000009d500000000000009d500000000000009d500000000000009d500000000000009d500000000000009d500000000000009d500000000000009d500000000000009d500000000000009d500000000000009d500000000000009d500000000000009d500000000000009d500000000000009d500000000000009d500000000000009d500000000000009d5ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782581840314372096, 1700002518003, 7, 8, 10, 2, 0, 4102444800000, '12345', '447700902518', 16777473, 1, '\x900101b20109746578742032353138');
INSERT INTO public.msg_20231114 VALUES (1782581841362948096, 1700002519003, 7, 8, 28, 3, 0, 4102444800000, '12345', '447700902519', 16777473, 1, '\x900101b20109746578742032353139');
INSERT INTO public.msg_20231114 VALUES (1782581842411524096, 1700002520003, 7, 9, 29, 0, 0, 4102444800000, '12345', '447700902520', 16777473, 1, '\x900101b20109746578742032353230');
INSERT INTO public.msg_20231114 VALUES (1782581843460100096, 1700002521003, 7, 8, 5, 1, 4070908800000, 4102444800000, '12345', '447700902521', 16777473, 1, '\x900101b20109746578742032353231');
INSERT INTO public.msg_20231114 VALUES (1782581844508676096, 1700002522003, 7, 8, 29, 2, 0, 4102444800000, '12345', '447700902522', 16777473, 1, '\x900101b20109746578742032353232');
INSERT INTO public.msg_20231114 VALUES (1782581845557252096, 1700002523003, 7, 9, 22, 3, 0, 4102444800000, '12345', '447700902523', 16777473, 1, '\x900101b20109746578742032353233');
INSERT INTO public.msg_20231114 VALUES (1782581846605828096, 1700002524003, 7, 8, 3, 0, 0, 4102444800000, '12345', '447700902524', 16777473, 1, '\x900101b20109746578742032353234');
INSERT INTO public.msg_20231114 VALUES (1782581847654404096, 1700002525003, 7, 8, 2, 1, 0, 4102444800000, '12345', '447700902525', 16777473, 1, '\x900101b20109746578742032353235');
INSERT INTO public.msg_20231114 VALUES (1782581848702980096, 1700002526003, 7, 9, 17, 2, 0, 1700175326000, 'Grüße', '447700902526', 83886081, 1, '\x900101a00108b2013800000000000009de00000000000009de00000000000009de00000000000009de00000000000009de00000000000009de00000000000009deba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782581849751556096, 1700002527003, 7, 8, 15, 3, 0, 1700175327000, 'Grüße', '447700902527', 83886081, 2, '\x2001900101a00108b2014000000000000009df00000000000009df00000000000009df00000000000009df00000000000009df00000000000009df00000000000009df00000000000009dfba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782581850800132096, 1700002528003, 7, 8, 13, 0, 0, 4102444800000, '12345', '447700902528', 16777473, 1, '\x900101b20109746578742032353238');
INSERT INTO public.msg_20231114 VALUES (1782581851848708096, 1700002529003, 7, 9, 17, 1, 0, 4102444800000, '12345', '447700902529', 16777473, 1, '\x900101b20109746578742032353239');
INSERT INTO public.msg_20231114 VALUES (1782581852897284096, 1700002530003, 7, 8, 12, 2, 0, 4102444800000, '12345', '447700902530', 16777473, 1, '\x900101b20109746578742032353330');
INSERT INTO public.msg_20231114 VALUES (1782581853945860096, 1700002531003, 7, 8, 4, 3, 4070908800000, 4102444800000, '12345', '447700902531', 16777473, 1, '\x900101b20109746578742032353331');
INSERT INTO public.msg_20231114 VALUES (1782581854994436096, 1700002532003, 7, 9, 25, 0, 0, 4102444800000, '12345', '447700902532', 16777473, 1, '\x900101b20109746578742032353332');
INSERT INTO public.msg_20231114 VALUES (1782581856043012096, 1700002533003, 7, 8, 3, 1, 0, 4102444800000, '12345', '447700902533', 16777473, 1, '\x900101b20109746578742032353333');
INSERT INTO public.msg_20231114 VALUES (1782581857091588096, 1700002534003, 7, 8, 6, 2, 0, 4102444800000, '12345', '447700902534', 16777473, 1, '\x900101b20109746578742032353334');
INSERT INTO public.msg_20231114 VALUES (1782581858140164096, 1700002535003, 7, 9, 26, 3, 0, 4102444800000, '12345', '447700902535', 16777473, 1, '\x900101b20109746578742032353335');
INSERT INTO public.msg_20231114 VALUES (1782581859188740096, 1700002536003, 7, 8, 21, 0, 0, 1700175336000, '\xfffe00', '447700902536', 83886081, 1, '\x900101a00108b201880100000000000009e800000000000009e800000000000009e800000000000009e800000000000009e800000000000009e800000000000009e800000000000009e800000000000009e800000000000009e800000000000009e800000000000009e800000000000009e800000000000009e800000000000009e800000000000009e800000000000009e8ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782581860237316096, 1700002537003, 7, 8, 27, 1, 0, 1700175337000, '\x5c783431', '447700902537', 83886081, 1, '\x900101a00108b201900100000000000009e900000000000009e900000000000009e900000000000009e900000000000009e900000000000009e900000000000009e900000000000009e900000000000009e900000000000009e900000000000009e900000000000009e900000000000009e900000000000009e900000000000009e900000000000009e900000000000009e900000000000009e9ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782581861285892096, 1700002538003, 7, 9, 11, 2, 0, 4102444800000, '12345', '447700902538', 16777473, 1, '\x900101b20109746578742032353338');
INSERT INTO public.msg_20231114 VALUES (1782581862334468096, 1700002539003, 7, 8, 20, 3, 0, 4102444800000, '12345', '447700902539', 16777473, 1, '\x900101b20109746578742032353339');
INSERT INTO public.msg_20231114 VALUES (1782581863383044096, 1700002540003, 7, 8, 14, 0, 0, 4102444800000, '12345', '447700902540', 16777473, 1, '\x900101b20109746578742032353430');
INSERT INTO public.msg_20231114 VALUES (1782581864431620096, 1700002541003, 7, 9, 8, 1, 4070908800000, 4102444800000, '12345', '447700902541', 16777473, 1, '\x900101b20109746578742032353431');
INSERT INTO public.msg_20231114 VALUES (1782581865480196096, 1700002542003, 7, 8, 1, 2, 0, 4102444800000, '12345', '447700902542', 16777473, 1, '\x900101b20109746578742032353432');
INSERT INTO public.msg_20231114 VALUES (1782581866528772096, 1700002543003, 7, 8, 25, 3, 0, 4102444800000, '12345', '447700902543', 16777473, 1, '\x900101b20109746578742032353433');
INSERT INTO public.msg_20231114 VALUES (1782581867577348096, 1700002544003, 7, 9, 23, 0, 0, 4102444800000, '12345', '447700902544', 16777473, 1, '\x900101b20109746578742032353434');
INSERT INTO public.msg_20231114 VALUES (1782581868625924096, 1700002545003, 7, 8, 15, 1, 0, 4102444800000, '12345', '447700902545', 16777473, 1, '\x900101b20109746578742032353435');
INSERT INTO public.msg_20231114 VALUES (1782581869674500096, 1700002546003, 7, 8, 28, 2, 0, 1700175346000, 'Grüße', '447700902546', 83886081, 1, '\x900101a00108b2013800000000000009f200000000000009f200000000000009f200000000000009f200000000000009f200000000000009f200000000000009f2ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782581870723076096, 1700002547003, 7, 9, 23, 3, 0, 1700175347000, 'Grüße', '447700902547', 83886081, 1, '\x900101a00108b2014000000000000009f300000000000009f300000000000009f300000000000009f300000000000009f300000000000009f300000000000009f300000000000009f3ba0106020400020909');
INSERT INTO public.msg_20231114 VALUES (1782581871771652096, 1700002548003, 7, 8, 31, 0, 0, 4102444800000, '12345', '447700902548', 16777473, 1, '\x900101b20109746578742032353438');
INSERT INTO public.msg_20231114 VALUES (1782581872820228096, 1700002549003, 7, 8, 28, 1, 0, 4102444800000, '12345', '447700902549', 16777473, 1, '\x900101b20109746578742032353439');
INSERT INTO public.msg_20231114 VALUES (1782581873868804096, 1700002550003, 7, 9, 14, 2, 0, 4102444800000, '12345', '447700902550', 16777473, 1, '\x900101b20109746578742032353530');
INSERT INTO public.msg_20231114 VALUES (1782581874917380096, 1700002551003, 7, 8, 0, 3, 4070908800000, 4102444800000, '12345', '447700902551', 16777473, 1, '\x900101b20109746578742032353531');
INSERT INTO public.msg_20231114 VALUES (1782581875965956096, 1700002552003, 7, 8, 27, 0, 0, 4102444800000, '12345', '447700902552', 16777473, 1, '\x900101b20109746578742032353532');
INSERT INTO public.msg_20231114 VALUES (1782581926297604096, 1700002600003, 7, 8, 11, 0, 0, 1700175400000, '12345', '447700902600', 16777473, 1, '\x900101b201077370656369616cea0114221280a08094989ac0de1880a080889c9ac0de18');
INSERT INTO public.msg_20231114 VALUES (1782581927346180096, 1700002601003, 7, 9, 11, 1, 0, 1700175401000, '12345', '447700902601', 16777473, 1, '\x7840900101b201080500030902016869ea010a0880a080a0949ac0de18');
INSERT INTO public.msg_20231114 VALUES (1782581928394756096, 1700002602003, 7, 8, 17, 2, 0, 1700175402000, '12345', '447700902602', 16777473, 1, '\x7840900101b201080500030902026869ea010a0880a080a0949ac0de18');
INSERT INTO public.msg_20231114 VALUES (1782581929443332096, 1700002603003, 7, 8, 1, 3, 0, 1700175403000, '12345', '447700902603', 16777473, 1, '\x900101b201077370656369616c');
INSERT INTO public.msg_20231114 VALUES (1782581930491908096, 1700002604003, 7, 9, 31, 0, 0, 1700175404000, '12345', '447700902604', 16777473, 1, '\x900101b201077370656369616cda040c0880a080fc9f9ac0de181001');
INSERT INTO public.msg_20231114 VALUES (1782581931540484096, 1700002605003, 7, 8, 6, 1, 0, 1700175405000, '12345', '447700902605', 16777473, 1, '\x900101b201077370656369616c');
INSERT INTO public.msg_20231114 VALUES (1782581932589060096, 1700002606003, 7, 8, 11, 2, 0, 1700175406000, '12345', '447700902606', 16777473, 1, '\x900101d2011907070707070707070707070707070707070707070707070707d80101aa03053233343135e203131211080210011a0b3037373030393030313233e80301f00314');
INSERT INTO public.msg_20231114 VALUES (1782581933637636096, 1700002607003, 7, 9, 10, 3, 0, 1700175407000, '12345', '447700902607', 16777473, 1, '\x900101b201077370656369616c900380a080ccaf9ac0de18980302');
INSERT INTO public.msg_20231114 VALUES (1782581934686212096, 1700002608003, 7, 8, 22, 0, 0, 1700175408000, '12345', '447700902608', 16777473, 1, '\x900101b201077370656369616c900380a080ccaf9ac0de18980302');

INSERT INTO public.msg_20261124 VALUES (1882700370800541696, 1795482989121, 7, 8, 13, 0, 0, 4128282989121, '12345', '447700900123', 257, 1, '\x900101b2010568656c6c6f');
INSERT INTO public.msg_20261124 VALUES (1882700370801590272, 1795482989122, 7, 9, 1, 0, 0, 4128282989122, '12345', '491701234567', 257, 1, '\x900101b2010568656c6c6f');
INSERT INTO public.msg_20261124 VALUES (1882700370802638848, 1795482989123, 7, 8, 30, 0, 0, 4128282989123, '12345', '447700900124', 257, 1, '\x900101ba01ec020424016861206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e67207465787420ea011d221b8180c0a1b2c0ac901a8280c0a1b2c0ac901a8380c0a1b2c0ac901a');
INSERT INTO public.msg_20261124 VALUES (1882700370802638849, 1795482989123, 7, 8, 30, 0, 0, 4128282989123, '12345', '447700900124', 257, 1, '\x7840900101b2019f010500036d030161206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e67207465ea010a088080c0a1b2c0ac901a');
INSERT INTO public.msg_20261124 VALUES (1882700370802638850, 1795482989123, 7, 8, 30, 0, 0, 4128282989123, '12345', '447700900124', 257, 1, '\x7840900101b2019f010500036d030278742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e67ea010a088080c0a1b2c0ac901a');
INSERT INTO public.msg_20261124 VALUES (1882700370802638851, 1795482989123, 7, 8, 30, 0, 0, 4128282989123, '12345', '447700900124', 257, 1, '\x7840900101b2013c0500036d030320746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e6720746578742061206c6f6e67207465787420ea010a088080c0a1b2c0ac901a');
INSERT INTO public.msg_20261124 VALUES (1882700370807881728, 1795482989128, 7, 8, 0, 0, 0, 4128282989128, '12345', '447700900125', 257, 1, '\x900101b2010963616e63656c6c6564');

INSERT INTO public.names VALUES (1, 'test:delivered');
INSERT INTO public.names VALUES (2, 'test:failed');
INSERT INTO public.names VALUES (3, 'test:unreachable');
INSERT INTO public.names VALUES (4, 'internal:assembly');
INSERT INTO public.names VALUES (5, 'internal:divided');
INSERT INTO public.names VALUES (6, 'account:news');
INSERT INTO public.names VALUES (7, 'account:shop');
INSERT INTO public.names VALUES (8, 'operator:exact');
INSERT INTO public.names VALUES (9, 'operator:loose');

INSERT INTO public.operators VALUES ('exact', 2, '{"address":"127.0.0.1:9","id":"exact","long_messages":"udh","message_id":"as_is","password":"secret","rate":5000,"reconnect":["200ms"],"system_id":"smsc"}');
INSERT INTO public.operators VALUES ('loose', 1, '{"address":"127.0.0.1:10","id":"loose","password":"secret","reconnect":["200ms"],"system_id":"smsc"}');

INSERT INTO public.opt_out VALUES ('shop', '447700900001', true, 1795482989115, 'admin token from 127.0.0.1:44166', 1);
INSERT INTO public.opt_out VALUES ('', '447700900002', true, 1795482989116, 'admin token from 127.0.0.1:44166', 2);
INSERT INTO public.opt_out VALUES ('', '447700900003', false, 1795482989118, 'admin token from 127.0.0.1:44166', 4);

INSERT INTO public.opt_out_version VALUES (true, 4);

INSERT INTO public.parked VALUES (1782582032203780096, 8, 'lost1', 1700002701000, '\x12056c6f7374311802220330303028e8d795ffbc31321d69643a6c6f73743120737461743a44454c49565244206572723a303030e20f0c343437373030393030313233ea0f053132333435');
INSERT INTO public.parked VALUES (1782582033252356096, 8, 'lost2', 1700002702000, '\x12056c6f7374321802220330303028d0df95ffbc31321d69643a6c6f73743220737461743a44454c49565244206572723a303030e20f0c343437373030393030313233ea0f053132333435');
INSERT INTO public.parked VALUES (1782582034300932096, 8, 'lost3', 1700002703000, '\x12056c6f7374331802220330303028b8e795ffbc31321d69643a6c6f73743320737461743a44454c49565244206572723a303030e20f0c343437373030393030313233ea0f053132333435');

INSERT INTO public.policies VALUES ('all', 1, '{"opt_out_keywords":["STOP"],"prices":{"49":3,"default":1}}');

INSERT INTO public.purse VALUES (7, 0, 472);
INSERT INTO public.purse VALUES (7, 20781, -6);

INSERT INTO public.refinery_schema_history VALUES (1, 'messages', '2026-11-24T01:16:29.601490065Z', '9190951591653816474');
INSERT INTO public.refinery_schema_history VALUES (2, 'cluster', '2026-11-24T01:16:29.72810693Z', '11636414151923326069');
INSERT INTO public.refinery_schema_history VALUES (3, 'message_correlations', '2026-11-24T01:16:29.756154785Z', '16596937655502895756');
INSERT INTO public.refinery_schema_history VALUES (4, 'archive', '2026-11-24T01:16:29.785231254Z', '12017065602183489767');
INSERT INTO public.refinery_schema_history VALUES (5, 'settings', '2026-11-24T01:16:29.792077731Z', '3402720381970386825');
INSERT INTO public.refinery_schema_history VALUES (6, 'access', '2026-11-24T01:16:29.828101869Z', '1796323132164229148');
INSERT INTO public.refinery_schema_history VALUES (7, 'unfinished', '2026-11-24T01:16:29.848059741Z', '12880817845018757303');
INSERT INTO public.refinery_schema_history VALUES (8, 'replace', '2026-11-24T01:16:29.860072878Z', '3116954416790287155');
INSERT INTO public.refinery_schema_history VALUES (9, 'opt_out', '2026-11-24T01:16:29.86402819Z', '2533828243488196524');
INSERT INTO public.refinery_schema_history VALUES (10, 'balance', '2026-11-24T01:16:29.885407834Z', '3089422505559944990');
INSERT INTO public.refinery_schema_history VALUES (11, 'binds', '2026-11-24T01:16:29.904056693Z', '8712532989135277535');
INSERT INTO public.refinery_schema_history VALUES (12, 'policy', '2026-11-24T01:16:29.908058825Z', '17314989658057895089');
INSERT INTO public.refinery_schema_history VALUES (13, 'inbox_inline', '2026-11-24T01:16:29.935553104Z', '5754728013630022688');
INSERT INTO public.refinery_schema_history VALUES (14, 'ids_aside', '2026-11-24T01:16:29.939151403Z', '13159488855505909267');
INSERT INTO public.refinery_schema_history VALUES (15, 'done_at', '2026-11-24T01:16:29.951786468Z', '4442145826600728829');
INSERT INTO public.refinery_schema_history VALUES (16, 'audit_detail', '2026-11-24T01:16:29.95253817Z', '2796026345645890326');

INSERT INTO public.retry VALUES (1782579230408708096, 1700000038000, 2);
INSERT INTO public.retry VALUES (1782581830877188096, 1700002518000, 2);
INSERT INTO public.retry VALUES (1782581834022916096, 1700002521000, 1);
INSERT INTO public.retry VALUES (1782581841362948096, 1700002528000, 2);
INSERT INTO public.retry VALUES (1782581844508676096, 1700002531000, 1);
INSERT INTO public.retry VALUES (1782581851848708096, 1700002538000, 2);
INSERT INTO public.retry VALUES (1782581854994436096, 1700002541000, 1);
INSERT INTO public.retry VALUES (1782581862334468096, 1700002548000, 2);
INSERT INTO public.retry VALUES (1782581865480196096, 1700002551000, 1);
INSERT INTO public.retry VALUES (1782581872820228096, 1700002558000, 2);
INSERT INTO public.retry VALUES (1782581875965956096, 1700002561000, 1);

INSERT INTO public.routes VALUES ('49', 1, '{"prefix":"49","to":["loose"]}');
INSERT INTO public.routes VALUES ('default', 1, '{"to":["exact"]}');
INSERT INTO public.routes VALUES ('vip', 3, '{"account":"news","name":"vip","prefix":"4477","to":[{"exact":70,"loose":30}]}');

INSERT INTO public.sent_20231114 VALUES (1782579201048580096, 1, 1700000001010, 8, 0, '00AB1', 7, -8998958486875099505, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579202097156096, 1, 1700000002010, 8, 0, '00AB2', 7, -5624420205957272837, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579203145732096, 1, 1700000003010, 9, 0, '\xf000', 7, 768666222693921342, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579204194308096, 1, 1700000004010, 8, 0, '00AB4', 7, -8653448962593068392, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579205242884096, 1, 1700000005010, 8, 0, '00AB5', 7, 43011559456846712, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579206291460096, 1, 1700000006010, 9, 0, '00AB6', 7, 6563192006519350899, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579207340036096, 1, 1700000007010, 8, 0, '00AB7', 7, 530095348645078809, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579208388612096, 1, 1700000008010, 8, 0, '00AB8', 7, -4213681700297542431, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579209437188096, 1, 1700000009010, 9, 0, '00AB9', 7, 623458449121644603, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579210485764096, 1, 1700000010010, 8, 0, '00AB10', 7, 7061326208512676743, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579211534340096, 1, 1700000011010, 8, 0, '00AB11', 7, -2823990198608666374, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579212582916096, 1, 1700000012010, 9, 0, '00AB12', 7, 7914230742452806367, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579213631492096, 1, 1700000013010, 8, 0, '00AB13', 7, 4934207693137564646, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579214680068096, 1, 1700000014010, 8, 0, '00AB14', 7, -5755403596080139420, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579215728644096, 1, 1700000015010, 9, 0, '00AB15', 7, 3726469989504877601, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579216777220096, 1, 1700000016010, 8, 0, '00AB16', 7, 4717293732756060727, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579217825796096, 1, 1700000017010, 8, 0, '00AB17', 7, -7874675361921977205, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579218874372096, 1, 1700000018010, 9, 0, '00AB18', 7, 3143638311322840844, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579219922948096, 1, 1700000019010, 8, 0, '00AB19', 7, -7195658361155175130, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579220971524096, 1, 1700000020010, 8, 0, '00AB20', 7, 3782541209191533213, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579222020100096, 1, 1700000021010, 9, 0, '00AB21', 7, -8714334667930464863, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579223068676096, 1, 1700000022010, 8, 0, '00AB22', 7, 1968172201074502727, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579224117252096, 1, 1700000023010, 8, 0, '00AB23', 7, -8049865942795020039, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579225165828096, 1, 1700000024010, 9, 0, '00AB24', 7, -2077492961359067380, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579226214404096, 1, 1700000025010, 8, 0, '00AB25', 7, 3333683116380221107, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579227262980096, 1, 1700000026010, 8, 0, '00AB26', 7, -1633382066808946123, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579228311556096, 1, 1700000027010, 9, 0, '00AB27', 7, -8593596401794046276, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579229360132096, 1, 1700000028010, 8, 0, '00AB28', 7, 4044920780554576675, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579230408708096, 1, 1700000029010, 8, -1, '', 7, 0, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782579231457284096, 1, 1700000030010, 9, 0, '00AB30', 7, -2130149152884803662, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581826682884096, 1, 1700002505010, 9, 0, '00AB2505', 7, -6973451844216710911, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581827731460096, 1, 1700002506010, 8, 0, '00AB2506', 7, 6723984610860304356, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581830877188096, 1, 1700002509010, 8, -1, '', 7, 0, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581834022916096, 1, 1700002512010, 8, 88, '', 7, 0, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581835071492096, 1, 1700002513010, 9, 20, '', 7, 0, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581835071492096, 2, 1700002513020, 8, 0, '00AB2513', 7, 6278484023317776509, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581837168644096, 1, 1700002515010, 8, 0, '00AB2515', 7, 901853309057497921, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581838217220096, 1, 1700002516010, 8, 0, '00AB2516', 7, 8801590083297962993, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581841362948096, 1, 1700002519010, 8, -1, '', 7, 0, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581844508676096, 1, 1700002522010, 8, 88, '', 7, 0, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581845557252096, 1, 1700002523010, 9, 20, '', 7, 0, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581845557252096, 2, 1700002523020, 9, 0, '00AB2523', 7, -7506641456092360457, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581847654404096, 1, 1700002525010, 8, 0, '00AB2525', 7, -2642159703825439377, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581848702980096, 1, 1700002526010, 9, 0, '00AB2526', 7, 5428077723314610484, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581851848708096, 1, 1700002529010, 9, -1, '', 7, 0, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581854994436096, 1, 1700002532010, 9, 88, '', 7, 0, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581856043012096, 1, 1700002533010, 9, 20, '', 7, 0, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581856043012096, 2, 1700002533020, 8, 0, '00AB2533', 7, 2071407632985048474, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581858140164096, 1, 1700002535010, 9, 0, '00AB2535', 7, 1641682460328358291, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581859188740096, 1, 1700002536010, 8, 0, '00AB2536', 7, 8168582122843476272, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581862334468096, 1, 1700002539010, 8, -1, '', 7, 0, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581865480196096, 1, 1700002542010, 8, 88, '', 7, 0, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581866528772096, 1, 1700002543010, 9, 20, '', 7, 0, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581866528772096, 2, 1700002543020, 8, 0, '00AB2543', 7, 515463456304295878, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581868625924096, 1, 1700002545010, 8, 0, '00AB2545', 7, -4165743449371202570, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581869674500096, 1, 1700002546010, 8, 0, '00AB2546', 7, -6375457558334280854, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581872820228096, 1, 1700002549010, 8, -1, '', 7, 0, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581875965956096, 1, 1700002552010, 8, 88, '', 7, 0, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581927346180096, 1, 1700002601010, 8, 0, '00AB2601', 7, -1828046781713923670, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581928394756096, 1, 1700002602010, 8, 0, '00AB2602', 7, -6670383474599220163, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581930491908096, 1, 1700002604010, 8, 0, '00AB2604', 7, 6469067219208552169, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581931540484096, 1, 1700002605010, 8, 0, '00AB2605', 7, -8918060849917649136, 844424930131985);
INSERT INTO public.sent_20231114 VALUES (1782581932589060096, 1, 1700002606010, 8, 0, '00AB2606', 7, -5039064387603042643, 844424930131985);

INSERT INTO public.sent_20261124 VALUES (1882700370802638848, 1, 1795482989123, 5, 0, '', 0, 0, 0);

INSERT INTO public.tokens VALUES ('ops', '\xdf0aa1cf43fa4fcae97dddb955d44f9280b19c44ec4a3308651e251ec07868b2', 'operate', 1795482989113, 'admin token from 127.0.0.1:44166', 0, 0);
INSERT INTO public.tokens VALUES ('reader', '\x1ad4668ff2f98b78e876a22f7ee192b0c4d11d8348db056274b9bd29068602dd', 'read', 1795482989112, 'admin token from 127.0.0.1:44166', 0, 0);

INSERT INTO public.told_20231114 VALUES (1782579201048580096);
INSERT INTO public.told_20231114 VALUES (1782579202097156096);
INSERT INTO public.told_20231114 VALUES (1782579203145732096);
INSERT INTO public.told_20231114 VALUES (1782579204194308096);
INSERT INTO public.told_20231114 VALUES (1782579205242884096);
INSERT INTO public.told_20231114 VALUES (1782579206291460096);
INSERT INTO public.told_20231114 VALUES (1782579207340036096);
INSERT INTO public.told_20231114 VALUES (1782579208388612096);
INSERT INTO public.told_20231114 VALUES (1782579209437188096);
INSERT INTO public.told_20231114 VALUES (1782579210485764096);
INSERT INTO public.told_20231114 VALUES (1782579211534340096);
INSERT INTO public.told_20231114 VALUES (1782579212582916096);
INSERT INTO public.told_20231114 VALUES (1782579213631492096);
INSERT INTO public.told_20231114 VALUES (1782579214680068096);
INSERT INTO public.told_20231114 VALUES (1782579215728644096);
INSERT INTO public.told_20231114 VALUES (1782579216777220096);
INSERT INTO public.told_20231114 VALUES (1782579217825796096);
INSERT INTO public.told_20231114 VALUES (1782579218874372096);
INSERT INTO public.told_20231114 VALUES (1782579219922948096);
INSERT INTO public.told_20231114 VALUES (1782579220971524096);
INSERT INTO public.told_20231114 VALUES (1782579222020100096);
INSERT INTO public.told_20231114 VALUES (1782579223068676096);
INSERT INTO public.told_20231114 VALUES (1782579224117252096);
INSERT INTO public.told_20231114 VALUES (1782579225165828096);
INSERT INTO public.told_20231114 VALUES (1782579226214404096);
INSERT INTO public.told_20231114 VALUES (1782579227262980096);
INSERT INTO public.told_20231114 VALUES (1782579228311556096);
INSERT INTO public.told_20231114 VALUES (1782579229360132096);
INSERT INTO public.told_20231114 VALUES (1782579231457284096);
INSERT INTO public.told_20231114 VALUES (1782581827731460096);
INSERT INTO public.told_20231114 VALUES (1782581838217220096);
INSERT INTO public.told_20231114 VALUES (1782581848702980096);
INSERT INTO public.told_20231114 VALUES (1782581859188740096);
INSERT INTO public.told_20231114 VALUES (1782581869674500096);
INSERT INTO public.told_20231114 VALUES (1782581926297604096);
INSERT INTO public.told_20231114 VALUES (1782581929443332096);
INSERT INTO public.told_20231114 VALUES (1782581930491908096);
INSERT INTO public.told_20231114 VALUES (1782581931540484096);

INSERT INTO public.top_ups VALUES (1882700370798444544, 7, 500, 'invoice 1', 'admin token from 127.0.0.1:44166');
INSERT INTO public.top_ups VALUES (1882700370799493120, 7, -20, 'correction', 'admin token from 127.0.0.1:44166');

INSERT INTO public.tries_20231114 VALUES (1782581825634308096, 1, 1700002504000, 8);
INSERT INTO public.tries_20231114 VALUES (1782581836120068096, 1, 1700002514000, 9);
INSERT INTO public.tries_20231114 VALUES (1782581846605828096, 1, 1700002524000, 8);
INSERT INTO public.tries_20231114 VALUES (1782581857091588096, 1, 1700002534000, 8);
INSERT INTO public.tries_20231114 VALUES (1782581867577348096, 1, 1700002544000, 9);

INSERT INTO smpp.message_correlations VALUES ('a5e032f9-6c55-4357-b064-19b68d1bca06', '18bd00bc-0680-8100-8000-000000000000', '00AB2513', '95afc813-e167-57f3-824e-f519adca2d55', '447700902513', '2023-11-14 22:55:13.02+00', '2123-10-21 22:55:13.02+00', NULL, 'SUBMITTED');
INSERT INTO smpp.message_correlations VALUES ('5ed41229-c34d-43d7-9ad5-fda96055e748', '18bd00be-7780-8100-8000-000000000000', '00AB2523', '9ea18ee5-1f3e-508d-a63b-1c60e7f8152f', '447700902523', '2023-11-14 22:55:23.02+00', '2123-10-21 22:55:23.02+00', NULL, 'SUBMITTED');
INSERT INTO smpp.message_correlations VALUES ('6045aadc-80e8-4685-bf85-c92a417c7e20', '18bd00c0-e880-8100-8000-000000000000', '00AB2533', '95afc813-e167-57f3-824e-f519adca2d55', '447700902533', '2023-11-14 22:55:33.02+00', '2123-10-21 22:55:33.02+00', NULL, 'SUBMITTED');
INSERT INTO smpp.message_correlations VALUES ('36d92520-ffeb-4c50-b090-d41f71417380', '18bd00c3-5980-8100-8000-000000000000', '00AB2543', '95afc813-e167-57f3-824e-f519adca2d55', '447700902543', '2023-11-14 22:55:43.02+00', '2123-10-21 22:55:43.02+00', NULL, 'SUBMITTED');
INSERT INTO smpp.message_correlations VALUES ('64cf5a37-756c-4c3f-a34b-8be9eaec3b1e', '18bcfe56-be80-8100-8000-000000000000', '00AB1', '95afc813-e167-57f3-824e-f519adca2d55', '447700900001', '2023-11-14 22:13:21.01+00', '2123-10-21 22:13:21.01+00', '2023-11-14 22:13:21.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('c0d56898-f3f7-4056-b8ea-99aeabf20644', '18bcfe56-fd00-8100-8000-000000000000', '00AB2', '95afc813-e167-57f3-824e-f519adca2d55', '447700900002', '2023-11-14 22:13:22.01+00', '2123-10-21 22:13:22.01+00', '2023-11-14 22:13:22.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('3c418c99-40e8-486e-a9f6-32789713f4d1', '18bcfe57-3b80-8100-8000-000000000000', '\xf000', '9ea18ee5-1f3e-508d-a63b-1c60e7f8152f', '447700900003', '2023-11-14 22:13:23.01+00', '2123-10-21 22:13:23.01+00', '2023-11-14 22:13:23.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('1c865f2b-a6da-4140-9c68-d339f39861ef', '18bcfe57-7a00-8100-8000-000000000000', '00AB4', '95afc813-e167-57f3-824e-f519adca2d55', '447700900004', '2023-11-14 22:13:24.01+00', '2123-10-21 22:13:24.01+00', '2023-11-14 22:13:24.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('75a82026-c3d5-4ea1-b081-62d10d19bd2a', '18bcfe57-b880-8100-8000-000000000000', '00AB5', '95afc813-e167-57f3-824e-f519adca2d55', '447700900005', '2023-11-14 22:13:25.01+00', '2123-10-21 22:13:25.01+00', '2023-11-14 22:13:25.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('71d6a7b0-ad0d-4172-910d-5380841b0a45', '18bcfe57-f700-8100-8000-000000000000', '00AB6', '9ea18ee5-1f3e-508d-a63b-1c60e7f8152f', '447700900006', '2023-11-14 22:13:26.01+00', '2123-10-21 22:13:26.01+00', '2023-11-14 22:13:26.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('94a1070a-c91e-4f54-af59-0980b105306e', '18bcfe58-3580-8100-8000-000000000000', '00AB7', '95afc813-e167-57f3-824e-f519adca2d55', '447700900007', '2023-11-14 22:13:27.01+00', '2123-10-21 22:13:27.01+00', '2023-11-14 22:13:27.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('e8ae4492-a896-43a0-8d46-61c8253068a6', '18bcfe58-7400-8100-8000-000000000000', '00AB8', '95afc813-e167-57f3-824e-f519adca2d55', '447700900008', '2023-11-14 22:13:28.01+00', '2123-10-21 22:13:28.01+00', '2023-11-14 22:13:28.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('6a299d85-b364-4845-a1f5-b8e6362edb54', '18bcfe58-b280-8100-8000-000000000000', '00AB9', '9ea18ee5-1f3e-508d-a63b-1c60e7f8152f', '447700900009', '2023-11-14 22:13:29.01+00', '2123-10-21 22:13:29.01+00', '2023-11-14 22:13:29.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('8394208f-04b7-4f20-810e-898ac818f8e3', '18bcfe58-f100-8100-8000-000000000000', '00AB10', '95afc813-e167-57f3-824e-f519adca2d55', '447700900010', '2023-11-14 22:13:30.01+00', '2123-10-21 22:13:30.01+00', '2023-11-14 22:13:30.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('ad8edfe3-89eb-4320-a48c-cc677c411d5d', '18bcfe59-2f80-8100-8000-000000000000', '00AB11', '95afc813-e167-57f3-824e-f519adca2d55', '447700900011', '2023-11-14 22:13:31.01+00', '2123-10-21 22:13:31.01+00', '2023-11-14 22:13:31.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('4c2c7ecb-1c53-4e32-af64-04169442eb79', '18bcfe59-6e00-8100-8000-000000000000', '00AB12', '9ea18ee5-1f3e-508d-a63b-1c60e7f8152f', '447700900012', '2023-11-14 22:13:32.01+00', '2123-10-21 22:13:32.01+00', '2023-11-14 22:13:32.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('2b2a29ce-b048-476b-8dae-6f61201d1ba4', '18bcfe59-ac80-8100-8000-000000000000', '00AB13', '95afc813-e167-57f3-824e-f519adca2d55', '447700900013', '2023-11-14 22:13:33.01+00', '2123-10-21 22:13:33.01+00', '2023-11-14 22:13:33.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('ff3a95a6-419d-4c81-a78f-e22e1a257d18', '18bcfe59-eb00-8100-8000-000000000000', '00AB14', '95afc813-e167-57f3-824e-f519adca2d55', '447700900014', '2023-11-14 22:13:34.01+00', '2123-10-21 22:13:34.01+00', '2023-11-14 22:13:34.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('9a4ae400-aa71-45f3-8a41-110143576f02', '18bcfe5a-2980-8100-8000-000000000000', '00AB15', '9ea18ee5-1f3e-508d-a63b-1c60e7f8152f', '447700900015', '2023-11-14 22:13:35.01+00', '2123-10-21 22:13:35.01+00', '2023-11-14 22:13:35.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('cf5d60f3-a866-4b00-998e-b933344aa0ab', '18bcfe5a-6800-8100-8000-000000000000', '00AB16', '95afc813-e167-57f3-824e-f519adca2d55', '447700900016', '2023-11-14 22:13:36.01+00', '2123-10-21 22:13:36.01+00', '2023-11-14 22:13:36.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('30055d34-3926-49cc-b32e-1f7891a7af61', '18bcfe5a-a680-8100-8000-000000000000', '00AB17', '95afc813-e167-57f3-824e-f519adca2d55', '447700900017', '2023-11-14 22:13:37.01+00', '2123-10-21 22:13:37.01+00', '2023-11-14 22:13:37.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('932610f6-b79c-40fb-a534-37952e781c95', '18bcfe5a-e500-8100-8000-000000000000', '00AB18', '9ea18ee5-1f3e-508d-a63b-1c60e7f8152f', '447700900018', '2023-11-14 22:13:38.01+00', '2123-10-21 22:13:38.01+00', '2023-11-14 22:13:38.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('3f85cdd2-d8a7-4523-a3e2-da1d50f58aec', '18bcfe5b-2380-8100-8000-000000000000', '00AB19', '95afc813-e167-57f3-824e-f519adca2d55', '447700900019', '2023-11-14 22:13:39.01+00', '2123-10-21 22:13:39.01+00', '2023-11-14 22:13:39.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('94c66350-2284-4cdf-b9dc-f74634c39878', '18bcfe5b-6200-8100-8000-000000000000', '00AB20', '95afc813-e167-57f3-824e-f519adca2d55', '447700900020', '2023-11-14 22:13:40.01+00', '2123-10-21 22:13:40.01+00', '2023-11-14 22:13:40.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('0e62e823-e073-4665-a601-b0bee77ed9c9', '18bcfe5b-a080-8100-8000-000000000000', '00AB21', '9ea18ee5-1f3e-508d-a63b-1c60e7f8152f', '447700900021', '2023-11-14 22:13:41.01+00', '2123-10-21 22:13:41.01+00', '2023-11-14 22:13:41.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('70255783-c724-4f1b-90e1-4b18d7190961', '18bcfe5b-df00-8100-8000-000000000000', '00AB22', '95afc813-e167-57f3-824e-f519adca2d55', '447700900022', '2023-11-14 22:13:42.01+00', '2123-10-21 22:13:42.01+00', '2023-11-14 22:13:42.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('dd0f4516-155c-4a99-969a-272c073fa731', '18bcfe5c-1d80-8100-8000-000000000000', '00AB23', '95afc813-e167-57f3-824e-f519adca2d55', '447700900023', '2023-11-14 22:13:43.01+00', '2123-10-21 22:13:43.01+00', '2023-11-14 22:13:43.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('41b57a74-f83f-4630-b303-bf6779b4312c', '18bcfe5c-5c00-8100-8000-000000000000', '00AB24', '9ea18ee5-1f3e-508d-a63b-1c60e7f8152f', '447700900024', '2023-11-14 22:13:44.01+00', '2123-10-21 22:13:44.01+00', '2023-11-14 22:13:44.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('9f3ba157-f1d1-4dee-a48b-53af376adbef', '18bcfe5c-9a80-8100-8000-000000000000', '00AB25', '95afc813-e167-57f3-824e-f519adca2d55', '447700900025', '2023-11-14 22:13:45.01+00', '2123-10-21 22:13:45.01+00', '2023-11-14 22:13:45.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('1d6e0748-a8ae-42a3-a305-82113376d52c', '18bcfe5c-d900-8100-8000-000000000000', '00AB26', '95afc813-e167-57f3-824e-f519adca2d55', '447700900026', '2023-11-14 22:13:46.01+00', '2123-10-21 22:13:46.01+00', '2023-11-14 22:13:46.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('c7bd87b7-2546-48dd-85e5-565184a1c2be', '18bcfe5d-1780-8100-8000-000000000000', '00AB27', '9ea18ee5-1f3e-508d-a63b-1c60e7f8152f', '447700900027', '2023-11-14 22:13:47.01+00', '2123-10-21 22:13:47.01+00', '2023-11-14 22:13:47.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('c48ac258-4296-4dfd-a675-6e16f1bc71bf', '18bcfe5d-5600-8100-8000-000000000000', '00AB28', '95afc813-e167-57f3-824e-f519adca2d55', '447700900028', '2023-11-14 22:13:48.01+00', '2123-10-21 22:13:48.01+00', '2023-11-14 22:13:48.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('4b121db5-26b0-48c8-afd5-f56f6f07d8d7', '18bcfe5d-d300-8100-8000-000000000000', '00AB30', '9ea18ee5-1f3e-508d-a63b-1c60e7f8152f', '447700900030', '2023-11-14 22:13:50.01+00', '2123-10-21 22:13:50.01+00', '2023-11-14 22:13:50.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('a8c1267e-7a59-4a6e-b7e3-4d7048532bbf', '18bd00ba-1280-8100-8000-000000000000', '00AB2505', '9ea18ee5-1f3e-508d-a63b-1c60e7f8152f', '447700902505', '2023-11-14 22:55:05.01+00', '2123-10-21 22:55:05.01+00', '2023-11-14 22:55:05.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('ad3f3a37-2df6-4d25-ab44-5d6e50f7a9d7', '18bd00ba-5100-8100-8000-000000000000', '00AB2506', '95afc813-e167-57f3-824e-f519adca2d55', '447700902506', '2023-11-14 22:55:06.01+00', '2123-10-21 22:55:06.01+00', '2023-11-14 22:55:06.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('f1a1703a-10c4-4984-a0ac-90c3b75434f5', '18bd00bc-8380-8100-8000-000000000000', '00AB2515', '95afc813-e167-57f3-824e-f519adca2d55', '447700902515', '2023-11-14 22:55:15.01+00', '2123-10-21 22:55:15.01+00', '2023-11-14 22:55:15.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('3dd091b1-9fb1-4df2-a896-c90547cc52cc', '18bd00bc-c200-8100-8000-000000000000', '00AB2516', '95afc813-e167-57f3-824e-f519adca2d55', '447700902516', '2023-11-14 22:55:16.01+00', '2123-10-21 22:55:16.01+00', '2023-11-14 22:55:16.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('b2737cda-c2e0-48e3-8bde-0d23f61e826a', '18bd00be-f480-8100-8000-000000000000', '00AB2525', '95afc813-e167-57f3-824e-f519adca2d55', '447700902525', '2023-11-14 22:55:25.01+00', '2123-10-21 22:55:25.01+00', '2023-11-14 22:55:25.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('183b5995-096c-4806-b99f-c072e5318985', '18bd00bf-3300-8100-8000-000000000000', '00AB2526', '9ea18ee5-1f3e-508d-a63b-1c60e7f8152f', '447700902526', '2023-11-14 22:55:26.01+00', '2123-10-21 22:55:26.01+00', '2023-11-14 22:55:26.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('6ee10b67-14cb-4815-954f-16f4469dde16', '18bd00c1-6580-8100-8000-000000000000', '00AB2535', '9ea18ee5-1f3e-508d-a63b-1c60e7f8152f', '447700902535', '2023-11-14 22:55:35.01+00', '2123-10-21 22:55:35.01+00', '2023-11-14 22:55:35.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('1673c2a8-40ac-4170-b524-f26d54eff9f3', '18bd00c1-a400-8100-8000-000000000000', '00AB2536', '95afc813-e167-57f3-824e-f519adca2d55', '447700902536', '2023-11-14 22:55:36.01+00', '2123-10-21 22:55:36.01+00', '2023-11-14 22:55:36.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('90986427-77ad-4e11-989d-1c6496dfd06f', '18bd00c3-d680-8100-8000-000000000000', '00AB2545', '95afc813-e167-57f3-824e-f519adca2d55', '447700902545', '2023-11-14 22:55:45.01+00', '2123-10-21 22:55:45.01+00', '2023-11-14 22:55:45.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('5d326789-0c83-46a9-9938-f99702b038fc', '18bd00c4-1500-8100-8000-000000000000', '00AB2546', '95afc813-e167-57f3-824e-f519adca2d55', '447700902546', '2023-11-14 22:55:46.01+00', '2123-10-21 22:55:46.01+00', '2023-11-14 22:55:46.5+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('6d8198e5-bb8e-4d0a-b355-23876661c7b7', '18bd00d1-8280-8100-8000-000000000000', '00AB2601', '95afc813-e167-57f3-824e-f519adca2d55', '447700902601', '2023-11-14 22:56:41.01+00', '2123-10-21 22:56:41.01+00', '2023-11-14 22:56:41.9+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('74bd5dfe-06fe-454a-ab62-3d80786fb1ea', '18bd00d1-c100-8100-8000-000000000000', '00AB2602', '95afc813-e167-57f3-824e-f519adca2d55', '447700902602', '2023-11-14 22:56:42.01+00', '2123-10-21 22:56:42.01+00', '2023-11-14 22:56:42.9+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('7669a605-9a2a-437f-a5ef-65382ea30539', '18bd00d2-3e00-8100-8000-000000000000', '00AB2604', '95afc813-e167-57f3-824e-f519adca2d55', '447700902604', '2023-11-14 22:56:44.01+00', '2123-10-21 22:56:44.01+00', '2023-11-14 22:56:44.9+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('cc9eed62-0325-4e27-9b5f-711325506636', '18bd00d2-7c80-8100-8000-000000000000', '00AB2605', '95afc813-e167-57f3-824e-f519adca2d55', '447700902605', '2023-11-14 22:56:45.01+00', '2123-10-21 22:56:45.01+00', '2023-11-14 22:56:45.9+00', 'DLR_RECEIVED');
INSERT INTO smpp.message_correlations VALUES ('8730f4db-f49d-4601-8503-90a97ff06aef', '18bd00d2-bb00-8100-8000-000000000000', '00AB2606', '95afc813-e167-57f3-824e-f519adca2d55', '447700902606', '2023-11-14 22:56:46.01+00', '2123-10-21 22:56:46.01+00', '2023-11-14 22:56:46.9+00', 'DLR_RECEIVED');

SELECT pg_catalog.setval('public.dead_seq_seq', 1, true);

SELECT pg_catalog.setval('public.inbox_seq_seq', 2, true);

SELECT pg_catalog.setval('public.node_epoch', 1, false);

SELECT pg_catalog.setval('public.orders_seq_seq', 1, false);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.carry
    ADD CONSTRAINT carry_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.change
    ADD CONSTRAINT change_pkey PRIMARY KEY (id, seq);

ALTER TABLE ONLY public.change_20231114
    ADD CONSTRAINT change_20231114_pkey PRIMARY KEY (id, seq);

ALTER TABLE ONLY public.change_20261123
    ADD CONSTRAINT change_20261123_pkey PRIMARY KEY (id, seq);

ALTER TABLE ONLY public.change_20261124
    ADD CONSTRAINT change_20261124_pkey PRIMARY KEY (id, seq);

ALTER TABLE ONLY public.change_20261125
    ADD CONSTRAINT change_20261125_pkey PRIMARY KEY (id, seq);

ALTER TABLE ONLY public.change_20261126
    ADD CONSTRAINT change_20261126_pkey PRIMARY KEY (id, seq);

ALTER TABLE ONLY public.change_20261127
    ADD CONSTRAINT change_20261127_pkey PRIMARY KEY (id, seq);

ALTER TABLE ONLY public.change_20261128
    ADD CONSTRAINT change_20261128_pkey PRIMARY KEY (id, seq);

ALTER TABLE ONLY public.change_20261129
    ADD CONSTRAINT change_20261129_pkey PRIMARY KEY (id, seq);

ALTER TABLE ONLY public.change_20261130
    ADD CONSTRAINT change_20261130_pkey PRIMARY KEY (id, seq);

ALTER TABLE ONLY public.change_20261201
    ADD CONSTRAINT change_20261201_pkey PRIMARY KEY (id, seq);

ALTER TABLE ONLY public.change_default
    ADD CONSTRAINT change_default_pkey PRIMARY KEY (id, seq);

ALTER TABLE ONLY public.config_versions
    ADD CONSTRAINT config_versions_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.dead
    ADD CONSTRAINT dead_pkey PRIMARY KEY (seq);

ALTER TABLE ONLY public.fin
    ADD CONSTRAINT fin_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.fin_20231114
    ADD CONSTRAINT fin_20231114_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.fin_20261123
    ADD CONSTRAINT fin_20261123_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.fin_20261124
    ADD CONSTRAINT fin_20261124_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.fin_20261125
    ADD CONSTRAINT fin_20261125_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.fin_20261126
    ADD CONSTRAINT fin_20261126_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.fin_20261127
    ADD CONSTRAINT fin_20261127_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.fin_20261128
    ADD CONSTRAINT fin_20261128_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.fin_20261129
    ADD CONSTRAINT fin_20261129_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.fin_20261130
    ADD CONSTRAINT fin_20261130_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.fin_20261201
    ADD CONSTRAINT fin_20261201_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.fin_default
    ADD CONSTRAINT fin_default_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.ids_aside
    ADD CONSTRAINT ids_aside_pkey PRIMARY KEY (node, first);

ALTER TABLE ONLY public.inbox
    ADD CONSTRAINT inbox_pkey PRIMARY KEY (queue, part, seq);

ALTER TABLE ONLY public.lane
    ADD CONSTRAINT lane_pkey PRIMARY KEY (node, epoch, lane);

ALTER TABLE ONLY public.lease
    ADD CONSTRAINT lease_pkey PRIMARY KEY (kind, name, part);

ALTER TABLE ONLY public.limits
    ADD CONSTRAINT limits_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.lists
    ADD CONSTRAINT lists_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (key);

ALTER TABLE ONLY public.msg
    ADD CONSTRAINT msg_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.msg_20231114
    ADD CONSTRAINT msg_20231114_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.msg_20261123
    ADD CONSTRAINT msg_20261123_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.msg_20261124
    ADD CONSTRAINT msg_20261124_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.msg_20261125
    ADD CONSTRAINT msg_20261125_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.msg_20261126
    ADD CONSTRAINT msg_20261126_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.msg_20261127
    ADD CONSTRAINT msg_20261127_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.msg_20261128
    ADD CONSTRAINT msg_20261128_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.msg_20261129
    ADD CONSTRAINT msg_20261129_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.msg_20261130
    ADD CONSTRAINT msg_20261130_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.msg_20261201
    ADD CONSTRAINT msg_20261201_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.msg_default
    ADD CONSTRAINT msg_default_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.names
    ADD CONSTRAINT names_name_key UNIQUE (name);

ALTER TABLE ONLY public.names
    ADD CONSTRAINT names_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.node
    ADD CONSTRAINT node_pkey PRIMARY KEY (node);

ALTER TABLE ONLY public.operators
    ADD CONSTRAINT operators_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.opt_out
    ADD CONSTRAINT opt_out_pkey PRIMARY KEY (account, number);

ALTER TABLE ONLY public.opt_out
    ADD CONSTRAINT opt_out_version_key UNIQUE (version);

ALTER TABLE ONLY public.opt_out_version
    ADD CONSTRAINT opt_out_version_pkey PRIMARY KEY (one);

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (seq);

ALTER TABLE ONLY public.parked
    ADD CONSTRAINT parked_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.policies
    ADD CONSTRAINT policies_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.purse_block
    ADD CONSTRAINT purse_block_pkey PRIMARY KEY (account, day, node, epoch, lane);

ALTER TABLE ONLY public.purse
    ADD CONSTRAINT purse_pkey PRIMARY KEY (account, day);

ALTER TABLE ONLY public.refinery_schema_history
    ADD CONSTRAINT refinery_schema_history_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.retry
    ADD CONSTRAINT retry_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.routes
    ADD CONSTRAINT routes_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.sent
    ADD CONSTRAINT sent_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.sent_20231114
    ADD CONSTRAINT sent_20231114_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.sent_20261123
    ADD CONSTRAINT sent_20261123_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.sent_20261124
    ADD CONSTRAINT sent_20261124_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.sent_20261125
    ADD CONSTRAINT sent_20261125_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.sent_20261126
    ADD CONSTRAINT sent_20261126_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.sent_20261127
    ADD CONSTRAINT sent_20261127_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.sent_20261128
    ADD CONSTRAINT sent_20261128_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.sent_20261129
    ADD CONSTRAINT sent_20261129_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.sent_20261130
    ADD CONSTRAINT sent_20261130_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.sent_20261201
    ADD CONSTRAINT sent_20261201_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.sent_default
    ADD CONSTRAINT sent_default_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.spill
    ADD CONSTRAINT spill_pkey PRIMARY KEY (node, queue, block);

ALTER TABLE ONLY public.text_left
    ADD CONSTRAINT text_left_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_hash_key UNIQUE (hash);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.told
    ADD CONSTRAINT told_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.told_20231114
    ADD CONSTRAINT told_20231114_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.told_20261123
    ADD CONSTRAINT told_20261123_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.told_20261124
    ADD CONSTRAINT told_20261124_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.told_20261125
    ADD CONSTRAINT told_20261125_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.told_20261126
    ADD CONSTRAINT told_20261126_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.told_20261127
    ADD CONSTRAINT told_20261127_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.told_20261128
    ADD CONSTRAINT told_20261128_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.told_20261129
    ADD CONSTRAINT told_20261129_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.told_20261130
    ADD CONSTRAINT told_20261130_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.told_20261201
    ADD CONSTRAINT told_20261201_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.told_default
    ADD CONSTRAINT told_default_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.top_ups
    ADD CONSTRAINT top_ups_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.tries
    ADD CONSTRAINT tries_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.tries_20231114
    ADD CONSTRAINT tries_20231114_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.tries_20261123
    ADD CONSTRAINT tries_20261123_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.tries_20261124
    ADD CONSTRAINT tries_20261124_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.tries_20261125
    ADD CONSTRAINT tries_20261125_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.tries_20261126
    ADD CONSTRAINT tries_20261126_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.tries_20261127
    ADD CONSTRAINT tries_20261127_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.tries_20261128
    ADD CONSTRAINT tries_20261128_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.tries_20261129
    ADD CONSTRAINT tries_20261129_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.tries_20261130
    ADD CONSTRAINT tries_20261130_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.tries_20261201
    ADD CONSTRAINT tries_20261201_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.tries_default
    ADD CONSTRAINT tries_default_pkey PRIMARY KEY (id, attempt);

ALTER TABLE ONLY public.unfinished
    ADD CONSTRAINT unfinished_pkey PRIMARY KEY (account, node);

ALTER TABLE ONLY smpp.message_correlations
    ADD CONSTRAINT message_correlations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY smpp.message_correlations
    ADD CONSTRAINT uq_operator_msg UNIQUE (operator_id, operator_message_id);

CREATE INDEX lease_by_holder ON public.lease USING btree (node, epoch);

CREATE INDEX msg_destination ON ONLY public.msg USING btree (destination, id);

CREATE INDEX msg_20231114_destination_id_idx ON public.msg_20231114 USING btree (destination, id);

CREATE INDEX msg_20261123_destination_id_idx ON public.msg_20261123 USING btree (destination, id);

CREATE INDEX msg_20261124_destination_id_idx ON public.msg_20261124 USING btree (destination, id);

CREATE INDEX msg_20261125_destination_id_idx ON public.msg_20261125 USING btree (destination, id);

CREATE INDEX msg_20261126_destination_id_idx ON public.msg_20261126 USING btree (destination, id);

CREATE INDEX msg_20261127_destination_id_idx ON public.msg_20261127 USING btree (destination, id);

CREATE INDEX msg_20261128_destination_id_idx ON public.msg_20261128 USING btree (destination, id);

CREATE INDEX msg_20261129_destination_id_idx ON public.msg_20261129 USING btree (destination, id);

CREATE INDEX msg_20261130_destination_id_idx ON public.msg_20261130 USING btree (destination, id);

CREATE INDEX msg_20261201_destination_id_idx ON public.msg_20261201 USING btree (destination, id);

CREATE INDEX msg_default_destination_id_idx ON public.msg_default USING btree (destination, id);

CREATE INDEX opt_out_off ON public.opt_out USING btree (at) WHERE (NOT "out");

CREATE INDEX sent_correlation ON ONLY public.sent USING btree (correlation) WHERE (correlation <> 0);

CREATE INDEX sent_20231114_correlation_idx ON public.sent_20231114 USING btree (correlation) WHERE (correlation <> 0);

CREATE INDEX sent_20261123_correlation_idx ON public.sent_20261123 USING btree (correlation) WHERE (correlation <> 0);

CREATE INDEX sent_20261124_correlation_idx ON public.sent_20261124 USING btree (correlation) WHERE (correlation <> 0);

CREATE INDEX sent_20261125_correlation_idx ON public.sent_20261125 USING btree (correlation) WHERE (correlation <> 0);

CREATE INDEX sent_20261126_correlation_idx ON public.sent_20261126 USING btree (correlation) WHERE (correlation <> 0);

CREATE INDEX sent_20261127_correlation_idx ON public.sent_20261127 USING btree (correlation) WHERE (correlation <> 0);

CREATE INDEX sent_20261128_correlation_idx ON public.sent_20261128 USING btree (correlation) WHERE (correlation <> 0);

CREATE INDEX sent_20261129_correlation_idx ON public.sent_20261129 USING btree (correlation) WHERE (correlation <> 0);

CREATE INDEX sent_20261130_correlation_idx ON public.sent_20261130 USING btree (correlation) WHERE (correlation <> 0);

CREATE INDEX sent_20261201_correlation_idx ON public.sent_20261201 USING btree (correlation) WHERE (correlation <> 0);

CREATE INDEX sent_default_correlation_idx ON public.sent_default USING btree (correlation) WHERE (correlation <> 0);

CREATE UNIQUE INDEX top_ups_by_reference ON public.top_ups USING btree (account, reference);

CREATE INDEX idx_mc_expires_at ON smpp.message_correlations USING btree (expires_at) WHERE ((status)::text = 'SUBMITTED'::text);

CREATE INDEX idx_mc_message_id ON smpp.message_correlations USING btree (message_id);

CREATE INDEX idx_mc_operator_msg ON smpp.message_correlations USING btree (operator_id, operator_message_id);

ALTER INDEX public.change_pkey ATTACH PARTITION public.change_20231114_pkey;

ALTER INDEX public.change_pkey ATTACH PARTITION public.change_20261123_pkey;

ALTER INDEX public.change_pkey ATTACH PARTITION public.change_20261124_pkey;

ALTER INDEX public.change_pkey ATTACH PARTITION public.change_20261125_pkey;

ALTER INDEX public.change_pkey ATTACH PARTITION public.change_20261126_pkey;

ALTER INDEX public.change_pkey ATTACH PARTITION public.change_20261127_pkey;

ALTER INDEX public.change_pkey ATTACH PARTITION public.change_20261128_pkey;

ALTER INDEX public.change_pkey ATTACH PARTITION public.change_20261129_pkey;

ALTER INDEX public.change_pkey ATTACH PARTITION public.change_20261130_pkey;

ALTER INDEX public.change_pkey ATTACH PARTITION public.change_20261201_pkey;

ALTER INDEX public.change_pkey ATTACH PARTITION public.change_default_pkey;

ALTER INDEX public.fin_pkey ATTACH PARTITION public.fin_20231114_pkey;

ALTER INDEX public.fin_pkey ATTACH PARTITION public.fin_20261123_pkey;

ALTER INDEX public.fin_pkey ATTACH PARTITION public.fin_20261124_pkey;

ALTER INDEX public.fin_pkey ATTACH PARTITION public.fin_20261125_pkey;

ALTER INDEX public.fin_pkey ATTACH PARTITION public.fin_20261126_pkey;

ALTER INDEX public.fin_pkey ATTACH PARTITION public.fin_20261127_pkey;

ALTER INDEX public.fin_pkey ATTACH PARTITION public.fin_20261128_pkey;

ALTER INDEX public.fin_pkey ATTACH PARTITION public.fin_20261129_pkey;

ALTER INDEX public.fin_pkey ATTACH PARTITION public.fin_20261130_pkey;

ALTER INDEX public.fin_pkey ATTACH PARTITION public.fin_20261201_pkey;

ALTER INDEX public.fin_pkey ATTACH PARTITION public.fin_default_pkey;

ALTER INDEX public.msg_destination ATTACH PARTITION public.msg_20231114_destination_id_idx;

ALTER INDEX public.msg_pkey ATTACH PARTITION public.msg_20231114_pkey;

ALTER INDEX public.msg_destination ATTACH PARTITION public.msg_20261123_destination_id_idx;

ALTER INDEX public.msg_pkey ATTACH PARTITION public.msg_20261123_pkey;

ALTER INDEX public.msg_destination ATTACH PARTITION public.msg_20261124_destination_id_idx;

ALTER INDEX public.msg_pkey ATTACH PARTITION public.msg_20261124_pkey;

ALTER INDEX public.msg_destination ATTACH PARTITION public.msg_20261125_destination_id_idx;

ALTER INDEX public.msg_pkey ATTACH PARTITION public.msg_20261125_pkey;

ALTER INDEX public.msg_destination ATTACH PARTITION public.msg_20261126_destination_id_idx;

ALTER INDEX public.msg_pkey ATTACH PARTITION public.msg_20261126_pkey;

ALTER INDEX public.msg_destination ATTACH PARTITION public.msg_20261127_destination_id_idx;

ALTER INDEX public.msg_pkey ATTACH PARTITION public.msg_20261127_pkey;

ALTER INDEX public.msg_destination ATTACH PARTITION public.msg_20261128_destination_id_idx;

ALTER INDEX public.msg_pkey ATTACH PARTITION public.msg_20261128_pkey;

ALTER INDEX public.msg_destination ATTACH PARTITION public.msg_20261129_destination_id_idx;

ALTER INDEX public.msg_pkey ATTACH PARTITION public.msg_20261129_pkey;

ALTER INDEX public.msg_destination ATTACH PARTITION public.msg_20261130_destination_id_idx;

ALTER INDEX public.msg_pkey ATTACH PARTITION public.msg_20261130_pkey;

ALTER INDEX public.msg_destination ATTACH PARTITION public.msg_20261201_destination_id_idx;

ALTER INDEX public.msg_pkey ATTACH PARTITION public.msg_20261201_pkey;

ALTER INDEX public.msg_destination ATTACH PARTITION public.msg_default_destination_id_idx;

ALTER INDEX public.msg_pkey ATTACH PARTITION public.msg_default_pkey;

ALTER INDEX public.sent_correlation ATTACH PARTITION public.sent_20231114_correlation_idx;

ALTER INDEX public.sent_pkey ATTACH PARTITION public.sent_20231114_pkey;

ALTER INDEX public.sent_correlation ATTACH PARTITION public.sent_20261123_correlation_idx;

ALTER INDEX public.sent_pkey ATTACH PARTITION public.sent_20261123_pkey;

ALTER INDEX public.sent_correlation ATTACH PARTITION public.sent_20261124_correlation_idx;

ALTER INDEX public.sent_pkey ATTACH PARTITION public.sent_20261124_pkey;

ALTER INDEX public.sent_correlation ATTACH PARTITION public.sent_20261125_correlation_idx;

ALTER INDEX public.sent_pkey ATTACH PARTITION public.sent_20261125_pkey;

ALTER INDEX public.sent_correlation ATTACH PARTITION public.sent_20261126_correlation_idx;

ALTER INDEX public.sent_pkey ATTACH PARTITION public.sent_20261126_pkey;

ALTER INDEX public.sent_correlation ATTACH PARTITION public.sent_20261127_correlation_idx;

ALTER INDEX public.sent_pkey ATTACH PARTITION public.sent_20261127_pkey;

ALTER INDEX public.sent_correlation ATTACH PARTITION public.sent_20261128_correlation_idx;

ALTER INDEX public.sent_pkey ATTACH PARTITION public.sent_20261128_pkey;

ALTER INDEX public.sent_correlation ATTACH PARTITION public.sent_20261129_correlation_idx;

ALTER INDEX public.sent_pkey ATTACH PARTITION public.sent_20261129_pkey;

ALTER INDEX public.sent_correlation ATTACH PARTITION public.sent_20261130_correlation_idx;

ALTER INDEX public.sent_pkey ATTACH PARTITION public.sent_20261130_pkey;

ALTER INDEX public.sent_correlation ATTACH PARTITION public.sent_20261201_correlation_idx;

ALTER INDEX public.sent_pkey ATTACH PARTITION public.sent_20261201_pkey;

ALTER INDEX public.sent_correlation ATTACH PARTITION public.sent_default_correlation_idx;

ALTER INDEX public.sent_pkey ATTACH PARTITION public.sent_default_pkey;

ALTER INDEX public.told_pkey ATTACH PARTITION public.told_20231114_pkey;

ALTER INDEX public.told_pkey ATTACH PARTITION public.told_20261123_pkey;

ALTER INDEX public.told_pkey ATTACH PARTITION public.told_20261124_pkey;

ALTER INDEX public.told_pkey ATTACH PARTITION public.told_20261125_pkey;

ALTER INDEX public.told_pkey ATTACH PARTITION public.told_20261126_pkey;

ALTER INDEX public.told_pkey ATTACH PARTITION public.told_20261127_pkey;

ALTER INDEX public.told_pkey ATTACH PARTITION public.told_20261128_pkey;

ALTER INDEX public.told_pkey ATTACH PARTITION public.told_20261129_pkey;

ALTER INDEX public.told_pkey ATTACH PARTITION public.told_20261130_pkey;

ALTER INDEX public.told_pkey ATTACH PARTITION public.told_20261201_pkey;

ALTER INDEX public.told_pkey ATTACH PARTITION public.told_default_pkey;

ALTER INDEX public.tries_pkey ATTACH PARTITION public.tries_20231114_pkey;

ALTER INDEX public.tries_pkey ATTACH PARTITION public.tries_20261123_pkey;

ALTER INDEX public.tries_pkey ATTACH PARTITION public.tries_20261124_pkey;

ALTER INDEX public.tries_pkey ATTACH PARTITION public.tries_20261125_pkey;

ALTER INDEX public.tries_pkey ATTACH PARTITION public.tries_20261126_pkey;

ALTER INDEX public.tries_pkey ATTACH PARTITION public.tries_20261127_pkey;

ALTER INDEX public.tries_pkey ATTACH PARTITION public.tries_20261128_pkey;

ALTER INDEX public.tries_pkey ATTACH PARTITION public.tries_20261129_pkey;

ALTER INDEX public.tries_pkey ATTACH PARTITION public.tries_20261130_pkey;

ALTER INDEX public.tries_pkey ATTACH PARTITION public.tries_20261201_pkey;

ALTER INDEX public.tries_pkey ATTACH PARTITION public.tries_default_pkey;

