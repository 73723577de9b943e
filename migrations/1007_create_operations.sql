-- Operations over many events: replays, rebuilds, resends, imports and recoveries; the sweep's mark, and shared rates.
--
-- Locks: none that anyone could wait for; the tables are new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

-- replays: one row for each bulk replay, which its workflow follows: state says whether it continues, cursor how far it has
-- come. Its dead letters are fixed at the start: those up to bound that match the filter. Until it is settled, done and failed
-- are counted from the dead letters with its ID.
CREATE TABLE replays (
    id         text             PRIMARY KEY,
    filter     jsonb            NOT NULL,
    rate       double precision NOT NULL,
    state      text             NOT NULL DEFAULT 'running',
    bound      bigint           NOT NULL,
    cursor     bigint           NOT NULL DEFAULT 0,
    total      bigint           NOT NULL,
    done       bigint,
    failed     bigint,
    skipped    bigint           NOT NULL DEFAULT 0,
    started_by text             NOT NULL,
    started_at timestamptz      NOT NULL DEFAULT clock_timestamp(),
    -- When nothing was left to start; runs may still be open.
    drained_at timestamptz,
    ended_at   timestamptz,
    -- When the last run that it had started ended. done and failed are stored then.
    settled_at timestamptz,

    CONSTRAINT replays_state_known CHECK (state IN ('running', 'paused', 'completed', 'canceled')),
    CONSTRAINT replays_rate_is_positive CHECK (rate > 0),
    CONSTRAINT replays_ended_has_time CHECK ((state IN ('running', 'paused')) = (ended_at IS NULL)),
    CONSTRAINT replays_settled_is_complete
        CHECK (settled_at IS NULL OR (ended_at IS NOT NULL AND done IS NOT NULL AND failed IS NOT NULL))
);
-- Lists, newest first.
CREATE INDEX replays_by_start ON replays (started_at, id);
-- Those that still need a workflow; hardly ever more than a few.
CREATE INDEX replays_unsettled ON replays (id) WHERE settled_at IS NULL;

-- rebuilds: one row for each rebuild of entities, which its workflow follows. Its events are fixed at the start: those from
-- first_id to last_id that match its filter. One rebuild runs at a time.
CREATE TABLE rebuilds (
    id             text             PRIMARY KEY,
    -- The filter; empty doesn't restrict.
    provider       text             NOT NULL,
    -- The filter; empty does not restrict.
    kind           text             NOT NULL,
    dry_run        boolean          NOT NULL,
    rate           double precision NOT NULL,
    state          text             NOT NULL DEFAULT 'running',
    -- The first event to read; null if there was none.
    first_id       uuid,
    last_id        uuid,
    cursor         uuid,
    read           bigint           NOT NULL DEFAULT 0,
    changed        bigint           NOT NULL DEFAULT 0,
    unreadable     bigint           NOT NULL DEFAULT 0,
    skipped        bigint           NOT NULL DEFAULT 0,
    entities       bigint           NOT NULL DEFAULT 0,
    problems       jsonb            NOT NULL DEFAULT '[]',
    started_by     text             NOT NULL,
    started_at     timestamptz      NOT NULL DEFAULT clock_timestamp(),
    ended_at       timestamptz,
    -- Whether it asks the providers' APIs again for the states behind its events, and replaces what was fetched before.
    refetch        boolean          NOT NULL DEFAULT false,
    -- How many events have another key by the current definition, how many of these keys another event has, and the first of
    -- those.
    corrected_keys bigint           NOT NULL DEFAULT 0,
    shared_keys    bigint           NOT NULL DEFAULT 0,
    key_conflicts  jsonb            NOT NULL DEFAULT '[]',

    CONSTRAINT rebuilds_state_known CHECK (state IN ('running', 'paused', 'completed', 'canceled')),
    CONSTRAINT rebuilds_rate_is_positive CHECK (rate > 0),
    CONSTRAINT rebuilds_ended_has_time CHECK ((state IN ('running', 'paused')) = (ended_at IS NULL)),
    CONSTRAINT rebuilds_have_both_ends CHECK ((first_id IS NULL) = (last_id IS NULL))
);
-- Lists, newest first.
CREATE INDEX rebuilds_by_start ON rebuilds (started_at, id);
-- One runs at a time.
CREATE UNIQUE INDEX rebuilds_one ON rebuilds ((true)) WHERE state IN ('running', 'paused');

-- rebuild_entities: entities that the latest rebuild found to differ, so that each counts once. For a dry run, events holds the
-- first events that differ. The pages of the next rebuild remove the rows.
CREATE TABLE rebuild_entities (
    rebuild_id  text   NOT NULL,
    provider    text   NOT NULL,
    kind        text   NOT NULL,
    external_id text   NOT NULL,
    events      uuid[] NOT NULL,

    PRIMARY KEY (rebuild_id, provider, kind, external_id)
);

-- rebuild_keys: keys that a dry run would claim. It claims none, so this is how it finds that two of its events would share
-- one. The pages of the next rebuild remove the rows.
CREATE TABLE rebuild_keys (
    rebuild_id  text        NOT NULL,
    provider    text        NOT NULL,
    key         text        NOT NULL,
    event_id    uuid        NOT NULL,
    received_at timestamptz NOT NULL,

    PRIMARY KEY (rebuild_id, provider, key)
);

-- resends: one row for each resend, which delivers the events of a time range to a subscription again, or those that it never
-- got. Its workflow follows the row.
CREATE TABLE resends (
    id              text             PRIMARY KEY,
    subscription_id bigint           NOT NULL,
    -- Whether delivered events are sent again, or only those that were never delivered.
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
    -- Whether it also sends imported events that the previous system had processed.
    imported        boolean          NOT NULL DEFAULT false,

    CONSTRAINT resends_state_known CHECK (state IN ('running', 'paused', 'completed', 'canceled')),
    CONSTRAINT resends_rate_is_positive CHECK (rate > 0),
    CONSTRAINT resends_ended_has_time CHECK ((state IN ('running', 'paused')) = (ended_at IS NULL))
);
CREATE INDEX resends_by_start ON resends (started_at, id);
-- Two of one subscription would send the same events twice.
CREATE UNIQUE INDEX resends_one_each ON resends (subscription_id) WHERE state IN ('running', 'paused');

-- imports: one row for each import, which its workflow follows.
CREATE TABLE imports (
    id         text             PRIMARY KEY,
    name       text             NOT NULL,
    rate       double precision NOT NULL,
    state      text             NOT NULL DEFAULT 'running',
    total      bigint           NOT NULL,
    read       bigint           NOT NULL DEFAULT 0,
    counts     jsonb            NOT NULL DEFAULT '{}',
    problems   jsonb            NOT NULL DEFAULT '[]',
    started_by text             NOT NULL,
    started_at timestamptz      NOT NULL DEFAULT clock_timestamp(),
    ended_at   timestamptz,

    CONSTRAINT imports_state_known CHECK (state IN ('running', 'paused', 'completed', 'canceled')),
    CONSTRAINT imports_rate_is_positive CHECK (rate > 0),
    CONSTRAINT imports_ended_has_time CHECK ((state IN ('running', 'paused')) = (ended_at IS NULL))
);
-- Lists, newest first.
CREATE INDEX imports_by_start ON imports (started_at, id);
-- Those that need a workflow; hardly ever more than one.
CREATE INDEX imports_active ON imports (id) WHERE state IN ('running', 'paused');

-- import_rows: lines of an import that aren't applied yet, in the order of the file. A page removes its rows in the transaction
-- that applies them. A file is read to its end before anything is applied, so rows exist before their import does; the next
-- import removes rows without an import that are a day old. item is JSON, kept as bytes: json and jsonb refuse some headers.
-- Rows come and go as in delivery_queue.
CREATE TABLE import_rows (
    import_id text   NOT NULL,
    seq       bigint NOT NULL,
    item      bytea  NOT NULL,
    body      bytea  NOT NULL,
    -- The event that the line imports, so that an expunge finds a body that isn't applied yet; null for an entity.
    event_id  uuid,

    PRIMARY KEY (import_id, seq)
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX import_rows_by_event ON import_rows (event_id) WHERE event_id IS NOT NULL;

-- recoveries: one row for each recovery, which reads a provider's list of events and processes those that never arrived. Its
-- workflow follows the row. walk is the position in the list; null before the first page and once the list has been read.
CREATE TABLE recoveries (
    id                text             PRIMARY KEY,
    provider          text             NOT NULL,
    target            text             NOT NULL,
    dry_run           boolean          NOT NULL,
    undelivered       boolean          NOT NULL,
    accept_duplicates boolean          NOT NULL,
    rate              double precision NOT NULL,
    state             text             NOT NULL DEFAULT 'running',
    -- Null: from the watermark on.
    asked_since       timestamptz,
    -- Null until the first page is read.
    since             timestamptz,
    until             timestamptz,
    -- Why since is later than what was asked for.
    cut               text             NOT NULL DEFAULT '',
    walk              text,
    listed            bigint           NOT NULL DEFAULT 0,
    known             bigint           NOT NULL DEFAULT 0,
    unwanted          bigint           NOT NULL DEFAULT 0,
    unsafe            bigint           NOT NULL DEFAULT 0,
    missed            bigint           NOT NULL DEFAULT 0,
    -- Part of missed: the provider may still deliver them.
    retrying          bigint           NOT NULL DEFAULT 0,
    recovered         bigint           NOT NULL DEFAULT 0,
    arrived           bigint           NOT NULL DEFAULT 0,
    failed            bigint           NOT NULL DEFAULT 0,
    examples          jsonb            NOT NULL DEFAULT '[]',
    problem           text             NOT NULL DEFAULT '',
    -- Before then the provider isn't asked again.
    retry_at          timestamptz,
    started_by        text             NOT NULL,
    started_at        timestamptz      NOT NULL DEFAULT clock_timestamp(),
    ended_at          timestamptz,
    -- Whether it is the schedule's daily recovery of the whole list, since events may appear in it later than the overlap.
    whole             boolean          NOT NULL DEFAULT false,
    -- Where it would have begun if nothing had cut it; null unless cut. What lies between it and since was not read.
    wanted_since      timestamptz,
    -- The times of the first and the last event that never arrived.
    first_missed      timestamptz,
    last_missed       timestamptz,
    -- How many requests of the provider were refused since first_missed. Null if it isn't known.
    refused           bigint,
    -- Part of missed: only the provider can send them; and how many it was asked to send again.
    redeliverable     bigint           NOT NULL DEFAULT 0,
    asked             bigint           NOT NULL DEFAULT 0,

    CONSTRAINT recoveries_state_known CHECK (state IN ('running', 'paused', 'completed', 'canceled')),
    CONSTRAINT recoveries_cut_known CHECK (cut IN ('', 'reach', 'switched_on')),
    CONSTRAINT recoveries_rate_is_positive CHECK (rate > 0),
    CONSTRAINT recoveries_ended_has_time CHECK ((state IN ('running', 'paused')) = (ended_at IS NULL)),
    CONSTRAINT recoveries_have_both_ends CHECK ((since IS NULL) = (until IS NULL)),
    CONSTRAINT recoveries_walk_has_window CHECK (walk IS NULL OR since IS NOT NULL)
);
-- Lists, newest first.
CREATE INDEX recoveries_by_start ON recoveries (started_at, id);
-- One at a time for each list.
CREATE UNIQUE INDEX recoveries_one ON recoveries (provider, target) WHERE state IN ('running', 'paused');

-- recovery_items: missed events that a recovery found and hasn't started yet. Receipt and body are those of the event that
-- would have arrived; both are empty in a dry run, which only counts. The transaction that counts a started event removes its
-- row.
CREATE TABLE recovery_items (
    recovery_id   text        NOT NULL,
    workflow_id   text        NOT NULL,
    at            timestamptz NOT NULL,
    event_id      uuid        NOT NULL,
    lane          text        NOT NULL,
    receipt       bytea       NOT NULL,
    body          bytea       NOT NULL,
    -- The path of one more request that the event needs: for its body, or, if it is redeliverable, so that the provider sends
    -- it again.
    path          text        NOT NULL DEFAULT '',
    redeliverable boolean     NOT NULL DEFAULT false,
    -- Of a log of deliveries: an attempt that succeeded. It isn't missed, and neither is another attempt of it.
    is_delivered  boolean     NOT NULL DEFAULT false,

    PRIMARY KEY (recovery_id, workflow_id)
);
-- Oldest first.
CREATE INDEX recovery_items_by_time ON recovery_items (recovery_id, at, workflow_id);
-- For an expunge.
CREATE INDEX recovery_items_by_event ON recovery_items (event_id);

-- recovery_marks: per provider and target, since when recovery is switched on (no walk goes back further, unless an operator
-- accepts duplicates), and the time until which everything in the provider's list is here.
CREATE TABLE recovery_marks (
    provider    text        NOT NULL,
    target      text        NOT NULL,
    switched_on timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The shortest dedupe window of the definition. Null: keys are kept forever.
    dedupe      interval,
    watermark   timestamptz,
    -- When a recovery last read the whole list.
    walked_at   timestamptz,
    -- All dedupe windows of the definition. If one of them may have become longer, recovery is switched on again.
    windows     text        NOT NULL DEFAULT '',

    PRIMARY KEY (provider, target)
);

-- recovery_remainders: missed events that a recovery couldn't start itself: the provider was asked to send them again (tried),
-- or wasn't, because no operator has allowed it. The schedule neither reports nor tries them again, and removes rows after 100
-- days, which is longer than any provider's log.
CREATE TABLE recovery_remainders (
    workflow_id text        PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    tried       boolean     NOT NULL
);
-- For their removal.
CREATE INDEX recovery_remainders_by_time ON recovery_remainders (at);

-- sweep_marks: one row that each sweep replaces; the sweep's result in Temporal has the same counter. The store with the lower
-- counter was set back, by a failover or a restore. WAL is one sequence: if a mark survived, so did every commit before it. The
-- table must be logged, and its row must not be copied by hand.
CREATE TABLE sweep_marks (
    one     boolean     PRIMARY KEY DEFAULT true CHECK (one),
    counter bigint      NOT NULL,
    at      timestamptz NOT NULL
);

-- rates: rate limits that all processes share, one row for each bucket. The table is unlogged, so that a commit doesn't wait
-- for a disk: after a crash each bucket is full again, and a standby has no rows until it is promoted. Rows are updated in
-- place, for which pages are left half empty. A purge removes rows of full buckets.
CREATE UNLOGGED TABLE rates (
    -- The provider, and the sender if each has a bucket of its own.
    name     text             PRIMARY KEY,
    requests integer          NOT NULL,
    seconds  double precision NOT NULL,
    -- When the bucket is full again: the time that is left says how much of it is used.
    full_at  timestamptz      NOT NULL,
    -- What the last statement allowed.
    granted  integer          NOT NULL,
    -- When a process last claimed at this rate. A claim at a lower rate changes the row at once; a higher rate holds once
    -- nobody has claimed at the lower one for a minute.
    rated_at timestamptz      NOT NULL DEFAULT '-infinity'
) WITH (
     fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
