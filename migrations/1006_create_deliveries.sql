-- Destinations, subscriptions and deliveries.
--
-- Locks: none that anyone could wait for; the tables are new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

-- subscriptions_head: one row with the version of destinations and subscriptions. Each of their changes raises it first, so
-- they commit one after the other: a reader of version n has seen all changes up to n. A sequence wouldn't guarantee that.
CREATE TABLE subscriptions_head (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    version bigint  NOT NULL DEFAULT 0
);

INSERT INTO subscriptions_head DEFAULT VALUES;

-- destinations: where events are delivered to.
CREATE TABLE destinations (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text        NOT NULL,
    settings   jsonb       NOT NULL,
    -- Secrets that the API made or was given: JSON, encrypted if payload keys are set.
    secrets    bytea,
    version    bigint      NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz,
    -- Since when the secrets are what they are.
    secrets_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The values of headers, encrypted like the secrets; settings have only their names.
    headers    bytea
);
CREATE UNIQUE INDEX destinations_by_name ON destinations (name) WHERE deleted_at IS NULL;
CREATE INDEX destinations_by_version ON destinations (version);

-- destination_variables: the environment variables that destinations may take secrets from. Other names are never resolved.
-- Only an administrator adds one, by naming it in a destination.
CREATE TABLE destination_variables (
    name     text        PRIMARY KEY,
    added_by text        NOT NULL,
    added_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- subscriptions: which events a destination gets, and in what form.
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

-- destination_states: the condition of a destination: breaker, pause, rate. The writer of events never waits for it, so it has
-- no foreign key.
CREATE TABLE destination_states (
    destination_id bigint           PRIMARY KEY,
    -- What operators decided, who and why.
    state          text             NOT NULL DEFAULT 'ready',
    reason         text             NOT NULL DEFAULT '',
    by             text             NOT NULL DEFAULT '',
    state_at       timestamptz      NOT NULL DEFAULT clock_timestamp(),
    -- When to look for due deliveries; nothing is due before low_at. held is what blocks it until then, so that a new
    -- delivery doesn't wake it: an open breaker, no free slot, no token, or that it is gone.
    next_at        timestamptz      NOT NULL DEFAULT clock_timestamp(),
    held           text             NOT NULL DEFAULT '',
    low_at         timestamptz      NOT NULL DEFAULT '-infinity',
    -- The breaker. Outcomes of another epoch change nothing.
    breaker        text             NOT NULL DEFAULT 'closed',
    epoch          bigint           NOT NULL DEFAULT 0,
    failures       integer          NOT NULL DEFAULT 0,
    probes_ok      integer          NOT NULL DEFAULT 0,
    open_until     timestamptz,
    closed_at      timestamptz,
    -- Since when it has been failing, until something succeeds, and with which code.
    failing_since  timestamptz,
    failure        text             NOT NULL DEFAULT '',
    -- The token bucket of its rate.
    tokens         double precision NOT NULL DEFAULT 0,
    tokens_at      timestamptz      NOT NULL DEFAULT '-infinity',
    -- The end of the pause that the endpoint asked for (429, or 503 with Retry-After), and how often it asked since its last
    -- success.
    resume_at      timestamptz,
    busy_answers   integer          NOT NULL DEFAULT 0,
    -- When the next probe of a failing destination is due; null if nothing has failed since the last success.
    probe_at       timestamptz,
    -- How many seconds before their start times attempts are leased, if there is a rate. Processes use the longest one;
    -- otherwise the one that leases earliest would move the start times of the others back.
    lead           double precision NOT NULL DEFAULT 0,

    CONSTRAINT destination_states_state_known CHECK (state IN ('ready', 'paused', 'disabled')),
    CONSTRAINT destination_states_held_known CHECK (held IN ('', 'open', 'full', 'rate', 'gone')),
    CONSTRAINT destination_states_breaker_known CHECK (breaker IN ('closed', 'open', 'half_open'))
) WITH (fillfactor = 20);
CREATE INDEX destination_states_due ON destination_states (next_at) WHERE state = 'ready';
CREATE INDEX destination_states_failing ON destination_states (failing_since) WHERE failing_since IS NOT NULL;

-- delivery_queue: open deliveries. The writer inserts them in the transaction in which an event first becomes processed. Rows
-- come and go by the thousand, so vacuum counts rows instead of shares.
CREATE TABLE delivery_queue (
    event_id        uuid        NOT NULL,
    subscription_id bigint      NOT NULL,
    destination_id  bigint      NOT NULL,
    -- When the next attempt is due; while it is leased, when the lease ends.
    due_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    queued_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease           uuid,
    epoch           bigint      NOT NULL DEFAULT 0,
    -- How many attempts had an outcome that counts, and how often it was leased since the last outcome.
    attempts        integer     NOT NULL DEFAULT 0,
    leases          integer     NOT NULL DEFAULT 0,
    -- Raised by each resend: a new generation is a new delivery.
    generation      integer     NOT NULL DEFAULT 0,
    last_code       text        NOT NULL DEFAULT '',
    -- Whether a success of the destination has already made it due early, which happens once.
    pulled_forward  boolean     NOT NULL DEFAULT false,
    -- Whether its webhook-id is its own; otherwise it is the event's.
    own_id          boolean     NOT NULL DEFAULT false,

    PRIMARY KEY (event_id, subscription_id)
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX delivery_queue_due ON delivery_queue (destination_id, due_at);
CREATE INDEX delivery_queue_leased ON delivery_queue (destination_id, due_at) WHERE lease IS NOT NULL;
-- Lists, and what is canceled with its subscription.
CREATE INDEX delivery_queue_by_subscription ON delivery_queue (subscription_id, event_id);

-- delivery_fanouts: events that match more subscriptions than are written in their own transaction. Rows come and go as in
-- delivery_queue.
CREATE TABLE delivery_fanouts (
    event_id         uuid     PRIMARY KEY,
    subscription_ids bigint[] NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);

-- deliveries: deliveries that ended. Partitions are weeks, by the time in the first bits of the event's ID, so that old rows
-- are removed with their partition.
CREATE TABLE deliveries (
    event_id        uuid        NOT NULL,
    subscription_id bigint      NOT NULL,
    destination_id  bigint      NOT NULL,
    status          text        NOT NULL,
    code            text        NOT NULL,
    attempts        integer     NOT NULL,
    generation      integer     NOT NULL,
    -- Of the last attempt: how long it took, and up to 4 KiB of the answer.
    ms              integer     NOT NULL,
    answer          bytea,
    queued_at       timestamptz NOT NULL,
    done_at         timestamptz NOT NULL DEFAULT clock_timestamp(),

    PRIMARY KEY (event_id, subscription_id),
    CONSTRAINT deliveries_status_known CHECK (status IN ('delivered', 'failed', 'canceled'))
) PARTITION BY RANGE (event_id);
-- Lists, newest first.
CREATE INDEX deliveries_by_subscription ON deliveries (subscription_id, event_id);
-- Few are not delivered.
CREATE INDEX deliveries_undelivered ON deliveries (event_id, subscription_id) WHERE status <> 'delivered';
CREATE INDEX deliveries_undelivered_of ON deliveries (subscription_id, event_id) WHERE status <> 'delivered';

-- delivery_attempts: attempts of deliveries that took more than a first success. Partitioned like deliveries.
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

-- A partition for each week, named by its Monday; one for everything older, and one for weeks without a partition.
-- keep_delivery_partitions makes partitions of the next weeks; drop_delivery_partitions removes old ones and returns about how many
-- rows they had. Both have the rights of their owner, since the program's role need not own the tables, and neither waits long for a
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
