-- What goes out. A destination is where events are delivered, a subscription says which and in what form, a delivery is one
-- event for one subscription. The one writer inserts deliveries in the transaction in which an event becomes processed for the
-- first time.
--
-- subscriptions_head is one row. Each change of a destination or a subscription raises its version first, and so these changes
-- commit one after the other: who has read version n has seen all changes up to n. A sequence would not give that.
--
-- destination_states is what happens to a destination: breaker, pause, tokens. The writer of events never touches it, so it has
-- no foreign key. delivery_queue holds open deliveries only. deliveries and delivery_attempts hold what has ended and been
-- tried, in partitions by time, which the first bits of an event's ID are, so that what is old goes with its partition.
--
-- A dead letter of step "deliver" is of one subscription; those of an event have 0.
--
-- Locks: dead_letters against everything for an instant (the default is a constant). The other tables are new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE subscriptions_head (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    version bigint  NOT NULL DEFAULT 0
);
INSERT INTO subscriptions_head DEFAULT VALUES;

CREATE TABLE destinations (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text        NOT NULL,
    settings   jsonb       NOT NULL,
    -- The secrets that the API has made or was given: JSON, encrypted where payload keys are set.
    secrets    bytea,
    version    bigint      NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz
);
CREATE UNIQUE INDEX destinations_by_name ON destinations (name) WHERE deleted_at IS NULL;
CREATE INDEX destinations_by_version ON destinations (version);

CREATE TABLE subscriptions (
    id             bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name           text        NOT NULL,
    destination_id bigint      NOT NULL REFERENCES destinations,
    settings       jsonb       NOT NULL,
    active         boolean     NOT NULL,
    version        bigint      NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at     timestamptz
);
CREATE UNIQUE INDEX subscriptions_by_name ON subscriptions (name) WHERE deleted_at IS NULL;
CREATE INDEX subscriptions_by_version ON subscriptions (version);
CREATE INDEX subscriptions_by_destination ON subscriptions (destination_id);

CREATE TABLE destination_states (
    destination_id bigint PRIMARY KEY,
    -- What people have decided, who and why.
    state          text        NOT NULL DEFAULT 'ready',
    reason         text        NOT NULL DEFAULT '',
    by             text        NOT NULL DEFAULT '',
    state_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When to look for what is due; below low_at nothing waits. What holds it until then, so that a new delivery does not wake
    -- it: an open breaker, as many under way as may be, no token, or that it is gone.
    next_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    held           text        NOT NULL DEFAULT '',
    low_at         timestamptz NOT NULL DEFAULT '-infinity',
    -- The breaker. Outcomes of another epoch move nothing.
    breaker        text        NOT NULL DEFAULT 'closed',
    epoch          bigint      NOT NULL DEFAULT 0,
    failures       integer     NOT NULL DEFAULT 0,
    probes_ok      integer     NOT NULL DEFAULT 0,
    open_until     timestamptz,
    closed_at      timestamptz,
    -- Since when it has been in trouble, which is until something succeeds; and with what.
    trouble_since  timestamptz,
    trouble        text        NOT NULL DEFAULT '',
    -- The token bucket of its rate.
    tokens         double precision NOT NULL DEFAULT 0,
    tokens_at      timestamptz NOT NULL DEFAULT '-infinity',

    CONSTRAINT destination_states_state_known CHECK (state IN ('ready', 'paused', 'disabled')),
    CONSTRAINT destination_states_held_known CHECK (held IN ('', 'open', 'full', 'rate', 'gone')),
    CONSTRAINT destination_states_breaker_known CHECK (breaker IN ('closed', 'open', 'half_open'))
) WITH (fillfactor = 20);
CREATE INDEX destination_states_due ON destination_states (next_at) WHERE state = 'ready';
CREATE INDEX destination_states_troubled ON destination_states (trouble_since) WHERE trouble_since IS NOT NULL;

CREATE TABLE delivery_queue (
    event_id        uuid        NOT NULL,
    subscription_id bigint      NOT NULL,
    destination_id  bigint      NOT NULL,
    -- When the next attempt is due; while it is leased, when the lease ends.
    due_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    queued_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease           uuid,
    epoch           bigint      NOT NULL DEFAULT 0,
    -- How often an attempt had an outcome that counts, and how often it was leased since the last outcome.
    attempts        integer     NOT NULL DEFAULT 0,
    leases          integer     NOT NULL DEFAULT 0,
    -- Raised by each "send again": a new generation is a new delivery for its receiver.
    generation      integer     NOT NULL DEFAULT 0,
    last_code       text        NOT NULL DEFAULT '',

    PRIMARY KEY (event_id, subscription_id)
) WITH (
    -- Rows come and go by the thousand: vacuum by number, not by share.
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX delivery_queue_due ON delivery_queue (destination_id, due_at);
CREATE INDEX delivery_queue_leased ON delivery_queue (destination_id, due_at) WHERE lease IS NOT NULL;
-- Lists, and what is canceled with its subscription.
CREATE INDEX delivery_queue_by_subscription ON delivery_queue (subscription_id, event_id);

CREATE TABLE deliveries (
    event_id        uuid        NOT NULL,
    subscription_id bigint      NOT NULL,
    destination_id  bigint      NOT NULL,
    status          text        NOT NULL,
    code            text        NOT NULL,
    attempts        integer     NOT NULL,
    generation      integer     NOT NULL,
    -- Of the last attempt: how long it took and what came back, at most 4 KiB.
    ms              integer     NOT NULL,
    answer          bytea,
    queued_at       timestamptz NOT NULL,
    done_at         timestamptz NOT NULL DEFAULT clock_timestamp(),

    PRIMARY KEY (event_id, subscription_id),
    CONSTRAINT deliveries_status_known CHECK (status IN ('delivered', 'failed', 'canceled'))
) PARTITION BY RANGE (event_id);
-- Lists, the newest event first; few are not delivered.
CREATE INDEX deliveries_by_subscription ON deliveries (subscription_id, event_id);
CREATE INDEX deliveries_undelivered ON deliveries (event_id, subscription_id) WHERE status <> 'delivered';
CREATE INDEX deliveries_undelivered_of ON deliveries (subscription_id, event_id) WHERE status <> 'delivered';

-- Only of deliveries for which there is more than a first success.
CREATE TABLE delivery_attempts (
    event_id        uuid        NOT NULL,
    subscription_id bigint      NOT NULL,
    lease           uuid        NOT NULL,
    at              timestamptz NOT NULL,
    generation      integer     NOT NULL,
    ok              boolean     NOT NULL,
    code            text        NOT NULL,
    error           text        NOT NULL,
    ms              integer     NOT NULL,
    answer          bytea,

    PRIMARY KEY (event_id, subscription_id, lease)
) PARTITION BY RANGE (event_id);

-- A partition a week, named by its Monday; one for all that is older, and one for what nobody has made a partition for. The
-- functions have the rights of their owner, since whoever works on these tables need not own them. Neither waits long for a
-- lock.
-- +goose StatementBegin
DO $make$
DECLARE parent text;
BEGIN
    EXECUTE format($fn$
        CREATE FUNCTION keep_delivery_partitions(weeks integer DEFAULT 4) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = %1$I, pg_temp SET lock_timeout = '1s' AS $body$
        DECLARE
            parent text; monday timestamptz; part text; low uuid; high uuid; taken boolean;
        BEGIN
            FOREACH parent IN ARRAY ARRAY['deliveries', 'delivery_attempts'] LOOP
                FOR n IN 0..least(weeks, 52) LOOP
                    monday := date_trunc('week', now(), 'UTC') + n * interval '7 days';
                    part := parent || to_char(monday AT TIME ZONE 'UTC', '_YYYYMMDD');
                    low := (lpad(to_hex((extract(epoch FROM monday) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
                    high := (lpad(to_hex((extract(epoch FROM monday + interval '7 days') * 1000)::bigint), 12, '0')
                             || repeat('0', 20))::uuid;
                    CONTINUE WHEN to_regclass(quote_ident(part)) IS NOT NULL;
                    EXECUTE format('SELECT EXISTS (SELECT FROM %%I WHERE event_id >= $1 AND event_id < $2)', parent || '_other')
                       INTO taken USING low, high;
                    CONTINUE WHEN taken;
                    EXECUTE format('CREATE TABLE %%I PARTITION OF %%I FOR VALUES FROM (%%L) TO (%%L)', part, parent, low, high);
                END LOOP;
            END LOOP;
        END $body$ $fn$, current_schema());
    -- Gives about how many rows have gone.
    EXECUTE format($fn$
        CREATE FUNCTION drop_delivery_partitions(before timestamptz) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = %1$I, pg_temp SET lock_timeout = '1s' AS $body$
        DECLARE
            part record; dropped bigint := 0;
        BEGIN
            IF NOT has_table_privilege(session_user, 'deliveries', 'DELETE') THEN
                RAISE insufficient_privilege USING MESSAGE = 'deliveries may not be removed by this role';
            END IF;
            FOR part IN
                SELECT c.relname, greatest(c.reltuples, 1)::bigint AS tuples
                  FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
                 WHERE i.inhparent IN ('deliveries'::regclass, 'delivery_attempts'::regclass) AND c.relname ~ '_[0-9]{8}$'
                   AND (to_date(right(c.relname, 8), 'YYYYMMDD') + 7)::timestamp AT TIME ZONE 'UTC' <= before
                 ORDER BY c.relname
            LOOP
                EXECUTE format('DROP TABLE %%I', part.relname);
                dropped := dropped + part.tuples;
            END LOOP;
            RETURN dropped;
        END $body$ $fn$, current_schema());
    FOREACH parent IN ARRAY ARRAY['deliveries', 'delivery_attempts'] LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', parent || '_other', parent);
        EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (MINVALUE) TO (%L)', parent || '_before', parent,
            (lpad(to_hex((extract(epoch FROM date_trunc('week', now(), 'UTC')) * 1000)::bigint), 12, '0')
             || repeat('0', 20))::uuid);
    END LOOP;
    PERFORM keep_delivery_partitions();
END $make$;
-- +goose StatementEnd

-- An event that more subscriptions match than are written in its own transaction.
CREATE TABLE delivery_fanouts (
    event_id         uuid     PRIMARY KEY,
    subscription_ids bigint[] NOT NULL
);

-- Deliveries that are sent again because somebody asked for it: an operation over the events of a time.
CREATE TABLE resends (
    id              text             PRIMARY KEY,
    subscription_id bigint           NOT NULL,
    -- Whether what was delivered goes once more, or only what never was.
    everything      boolean          NOT NULL,
    rate            double precision NOT NULL,
    state           text             NOT NULL DEFAULT 'running',
    first_id        uuid,
    cursor          uuid,
    last_id         uuid,
    read            bigint           NOT NULL DEFAULT 0,
    queued          bigint           NOT NULL DEFAULT 0,
    started_by      text             NOT NULL,
    started_at      timestamptz      NOT NULL DEFAULT clock_timestamp(),
    ended_at        timestamptz,

    CONSTRAINT resends_state_known CHECK (state IN ('running', 'paused', 'completed', 'canceled')),
    CONSTRAINT resends_rate_is_positive CHECK (rate > 0),
    CONSTRAINT resends_ended_has_time CHECK ((state IN ('running', 'paused')) = (ended_at IS NULL))
);
CREATE INDEX resends_by_start ON resends (started_at, id);
-- Two of one subscription would send the same events twice.
CREATE UNIQUE INDEX resends_one_each ON resends (subscription_id) WHERE state IN ('running', 'paused');

ALTER TABLE dead_letters ADD COLUMN subscription_id bigint NOT NULL DEFAULT 0;

-- NOT VALID: what is there was checked by the narrower constraint.
ALTER TABLE error_log DROP CONSTRAINT error_log_phase_known;
ALTER TABLE error_log ADD CONSTRAINT error_log_phase_known
    CHECK (phase IN ('receive', 'parse', 'persist', 'upsert', 'dead_letter', 'replay', 'deliver', 'upkeep')) NOT VALID;
