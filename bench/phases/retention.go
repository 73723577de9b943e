package phases

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
	"holdfast/event/retention"
	"holdfast/persistence"
)

const (
	day = 24 * time.Hour
	// purgedDays are the days of the history that are purged, and follow it. As many more can be purged under load.
	purgedDays = 5

	sideDelivered = "events"
	sidePurging   = "events during a purge"
)

// retain purges a day and adds the next one, five times, and then compares the load with and without a purge of more days.
func (s *bench) retain(ctx context.Context, grown *outlet, h lab.Past) error {
	store, err := s.openStore(fullDatabase)
	if err != nil {
		return err
	}
	defer store.Close()
	s.Say("  purging what is older than %d days", growthDays)
	before, err := s.sizesOf(ctx)
	if err != nil {
		return err
	}
	for n := range purgedDays {
		if err := s.passDay(ctx, store, &h, n+1); err != nil {
			return err
		}
	}
	after, err := s.sizesOf(ctx)
	if err != nil {
		return err
	}
	for _, table := range retainedTables {
		s.Value("bytes of a row of "+table+", after five days / before", "", figures.AtMost(1.3), after[table]/before[table])
	}
	return s.comparePurging(ctx, store, grown, h)
}

// comparePurging alternates between a load alone and one during a purge, which pauses like the schedule's.
func (s *bench) comparePurging(ctx context.Context, store *persistence.Store, grown *outlet, h lab.Past) error {
	var removed int64
	var took time.Duration
	purging := s.Full(sidePurging, grown.Load(suite.Stripe))
	measure := purging.Measure
	purging.Measure = func(ctx context.Context) (one slice, err error) {
		purged, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		begun := time.Now()
		go func() { ended <- purgeUntil(purged, store, h.Begins.Add(2*purgedDays*day), &removed) }()
		one, err = measure(ctx)
		took += time.Since(begun)
		cancel()
		return one, errors.Join(err, <-ended)
	}
	t, err := s.Alternate(ctx, s.Full(sideDelivered, grown.Load(suite.Stripe)), purging)
	if err != nil {
		return err
	}
	s.Samples("events delivered, during a purge / without", "", figures.AtLeast(0.9),
		t.Ratios(sidePurging, sideDelivered, suite.RateOf))
	s.Samples("CPU of an event, during a purge / without", "", nil, t.Ratios(sidePurging, sideDelivered, suite.CPUOf))
	s.Value("events purged during the load", "/s", nil, float64(removed)/took.Seconds())
	return nil
}

var errPurged = errors.New("nothing was left to purge before the load had ended")

// purgeUntil removes events from before a time until the context ends, with pauses as long as the work.
func purgeUntil(ctx context.Context, store *persistence.Store, before time.Time, removed *int64) error {
	for ctx.Err() == nil {
		begun := time.Now()
		n, err := store.Upkeep.PurgeBatch(context.WithoutCancel(ctx), retention.Events, before)
		if err != nil {
			return err
		}
		if n == 0 {
			return errPurged
		}
		*removed += n
		select {
		case <-time.After(time.Since(begun)):
		case <-ctx.Done():
		}
	}
	return nil
}

// passDay purges the oldest events and expired keys, adds as many events, and waits until autovacuum has nothing to do.
func (s *bench) passDay(ctx context.Context, store *persistence.Store, h *lab.Past, n int) error {
	begun := time.Now()
	before := h.Begins.Add(time.Duration(n) * day)
	var removed int64
	for _, kind := range []retention.Kind{retention.Events, retention.Keys} {
		if kind == retention.Keys {
			before = before.Add(h.KeysLast)
		}
		for {
			some, err := store.Upkeep.PurgeBatch(ctx, kind, before)
			if err != nil {
				return err
			}
			if some == 0 {
				break
			}
			removed += some
		}
	}
	purged := time.Since(begun)
	if err := s.Lab.Append(ctx, fullDatabase, h, int(day/h.Every)); err != nil {
		return fmt.Errorf("add day %d: %w", n, err)
	}
	s.Say("  day %d: %d rows purged in %s, a day added in %s", n, removed, purged.Round(time.Second),
		(time.Since(begun) - purged).Round(time.Second))
	return s.awaitVacuum(ctx)
}

// vacuumLimit bounds the wait for autovacuum.
const vacuumLimit = 20 * time.Minute

// toVacuum counts the tables that autovacuum's own thresholds say are due, and those that it works on.
const toVacuum = `
SELECT (SELECT count(*) FROM pg_stat_progress_vacuum)
     + (SELECT count(*) FROM pg_stat_user_tables AS s JOIN pg_class AS c ON c.oid = s.relid
         WHERE c.reloptions IS NULL
           AND (s.n_dead_tup > current_setting('autovacuum_vacuum_threshold')::float
                             + current_setting('autovacuum_vacuum_scale_factor')::float * greatest(c.reltuples, 0)
                OR s.n_ins_since_vacuum > current_setting('autovacuum_vacuum_insert_threshold')::float
                             + current_setting('autovacuum_vacuum_insert_scale_factor')::float * greatest(c.reltuples, 0)))`

// awaitVacuum waits until autovacuum, as the server has it configured, is done.
func (s *bench) awaitVacuum(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, vacuumLimit)
	defer cancel()
	conn, err := pgx.Connect(limited, s.Lab.Postgres.URL(fullDatabase))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	err = lab.Poll(limited, func() (bool, error) {
		var due int
		err := conn.QueryRow(limited, toVacuum).Scan(&due)
		return due == 0, err
	})
	if err != nil {
		return fmt.Errorf("wait for autovacuum: %w", err)
	}
	return nil
}

// retainedTables are those with a row, or more, of each event.
var retainedTables = []string{"events", "event_entities", "idempotency_keys", "entities", "deliveries"}

// sizesOf returns the bytes of a live row of each table, with its indexes.
func (s *bench) sizesOf(ctx context.Context) (each map[string]float64, err error) {
	conn, err := pgx.Connect(ctx, s.Lab.Postgres.URL(fullDatabase))
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	each = map[string]float64{}
	for _, table := range retainedTables {
		var bytes, live int64
		err := conn.QueryRow(ctx, `
SELECT greatest(pg_total_relation_size('`+table+`'),
                (SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('`+table+`'))::bigint), count(*) FROM `+table).
			Scan(&bytes, &live)
		if err != nil {
			return nil, err
		}
		each[table] = float64(bytes) / float64(max(live, 1))
		s.Say("  %s: %d rows, %d MB", table, live, bytes>>20)
	}
	return each, nil
}
