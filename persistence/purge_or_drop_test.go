package persistence_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/retention"
	"holdfast/migrations"
	"holdfast/persistence"
	"holdfast/persistence/postgres"
)

var (
	purgedRows = flag.Int("purged", 20_000, "how many events there are where a purge is compared with the drop of a partition")
	purgedAt   = flag.String("purged-at", "", "the address of an empty database for that, one that waits for its disk")
)

// A purge by rows, and the drop of a partition, on the same table under the same load of new events. Its results are in
// docs/internals/capacity.md: go test ./persistence -run PurgeOrDrop -purged 5000000 -purged-at postgres://… -v -timeout 1h
//
// It asserts what decides between the two: a dropped partition removes rows that a purge keeps, and keeps links that a purge
// removes.
func TestPurgeOrDrop(t *testing.T) {
	if *purgedAt == "" {
		t.Parallel()
	}
	seen := &statements{}
	db := openForPurge(t, seen)
	rows := *purgedRows
	begin := time.Now()
	db.fillForPurge(rows, max(rows/25, 1))
	t.Logf("load %s; filled with %d events in %s: %s", loadAverage(t), rows, time.Since(begin).Round(time.Second), db.sizes())

	alone := db.under(t, func(context.Context) {})
	share := max(rows/10, 1000)
	var removed int64
	wal, begin := value[string](db, `SELECT pg_current_wal_lsn()::text`), time.Now()
	beside := db.under(t, func(ctx context.Context) {
		for removed < int64(share) && ctx.Err() == nil {
			n, err := db.Upkeep.PurgeBatch(ctx, retention.Events, noon)
			if err != nil || n == 0 {
				return
			}
			removed += n
		}
	})
	took := time.Since(begin)
	require.Positive(t, removed)
	t.Logf("load %s; purge of %d in %s, %.0f/s beside the load; WAL with it %d B a row; %s", loadAverage(t), removed,
		took.Round(time.Millisecond), float64(removed)/took.Seconds(),
		value[int64](db, `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), $1::pg_lsn)::bigint`, wal)/removed, db.sizes())
	t.Logf("new events: alone %s; beside the purge %s", alone, beside)
	for _, plan := range db.plansOfPurge(t, seen) {
		t.Log(plan)
	}
	for _, table := range []string{"events", "event_entities"} {
		begin = time.Now()
		db.exec(`VACUUM ` + table)
		t.Logf("VACUUM %s after it: %s", table, time.Since(begin).Round(time.Millisecond))
	}
	t.Logf("after VACUUM: %s", db.sizes())

	links := value[int64](db, `SELECT count(*) FROM event_entities`)
	db.partitionEvents()
	old := value[int64](db, `SELECT count(*) FROM events_old`)
	var drop time.Duration
	wal = value[string](db, `SELECT pg_current_wal_lsn()::text`)
	beside = db.under(t, func(context.Context) {
		begin = time.Now()
		db.exec(`DROP TABLE events_old`)
		drop = time.Since(begin)
	})
	t.Logf("load %s; drop of %d in %s; WAL with the load %d B; new events beside it %s; %s", loadAverage(t), old,
		drop.Round(time.Millisecond), value[int64](db, `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), $1::pg_lsn)::bigint`, wal), beside,
		db.sizes())
	require.Positive(t, old)
	require.Zero(t, value[int](db, `SELECT count(*) FROM events WHERE status = 'persisted' AND id < $1::uuid`, event.FirstIDAt(noon)),
		"an event that waits is gone with its partition: a purge would have left it")
	require.GreaterOrEqual(t, value[int64](db, `SELECT count(*) FROM event_entities`), links,
		"what events did to entities is not gone with them: a purge would have removed what no fold reads")
}

func openForPurge(t *testing.T, seen *statements) *database {
	if *purgedAt == "" {
		return open(t, func(c *persistence.Config) { c.Tracer = seen })
	}
	require.NoError(t, migrations.Up(t.Context(), *purgedAt))
	cfg := persistence.Config{URL: *purgedAt, MaxConns: 10, Tracer: seen}
	store, err := persistence.Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return &database{Store: store, t: t, url: cfg.URL, cfg: cfg, sql: connect(t, cfg.URL)}
}

// fillForPurge inserts events of the hours before noon, of 600 bytes, each with the snapshot of one of some entities; one in a
// thousand needs an operator. Indexes are built at the end, which takes a tenth of the time.
func (d *database) fillForPurge(events, entities int) {
	d.t.Helper()
	rows, err := d.sql.Query(d.t.Context(), `
SELECT indexname, indexdef FROM pg_indexes AS i
 WHERE tablename IN ('events', 'event_entities') AND NOT EXISTS (SELECT FROM pg_constraint WHERE conname = indexname)`)
	require.NoError(d.t, err)
	indexes := map[string]string{}
	var name, definition string
	_, err = pgx.ForEachRow(rows, []any{&name, &definition}, func() error { indexes[name] = definition; return nil })
	require.NoError(d.t, err)
	for name := range indexes {
		d.exec(`DROP INDEX ` + name)
	}
	id := `(lpad(to_hex((extract(epoch FROM $2::timestamptz) * 1000)::bigint - $1::bigint + i), 12, '0') || '7000'
	        || lpad(to_hex(32768 + i % 16384), 4, '0') || lpad(to_hex(i), 12, '0'))::uuid`
	d.exec(`
INSERT INTO events (id, provider, source, key, key_from, type, status, outcome, raw_body, headers, receipt,
       payload_note, occurred_at, occurred_at_missing, received_at, processed_at, workflow_id, run_id, request_id,
       correlation_id)
SELECT `+id+`, 'acme', '', i, 'event', 'thing.changed', CASE WHEN i % 1000 = 0 THEN 'persisted' ELSE 'processed' END, 'processed',
       convert_to(rpad('{"id":"' || i || '","pad":"', 600, md5(i::text)), 'UTF8'), '{"user-agent": "bench"}', '{}', '', $2, false, $2, $2,
       'acme:' || i, 'b9c1f2d0-0000-7000-8000-000000000000', '', ''
  FROM generate_series(1, $1::integer) AS i`, events, noon.Add(-time.Hour))
	d.exec(`
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT `+id+`, 'acme', 'thing', 'e' || i % $3::integer, 1, 'snapshot', '{"name": "Ada", "total": 1}',
       $2::timestamptz + i * interval '1 ms'
  FROM generate_series(1, $1::integer) AS i`, events, noon.Add(-time.Hour), entities)
	d.exec(`SET maintenance_work_mem = '256MB'`)
	for _, definition := range indexes {
		d.exec(definition)
	}
	d.exec(`VACUUM ANALYZE events, event_entities`)
	d.exec(`CHECKPOINT`)
}

// sizes returns the sizes of the two tables, with their indexes and dead rows.
func (d *database) sizes() string {
	d.t.Helper()
	return value[string](d, `
SELECT string_agg(format('%s: table %s, indexes %s', c.relname, pg_size_pretty(pg_table_size(c.oid)),
       pg_size_pretty(pg_indexes_size(c.oid))), '; ' ORDER BY c.relname DESC)
  FROM pg_class AS c WHERE c.relname IN ('events', 'event_entities', 'events_old') AND c.relkind = 'r'`)
}

// plansOfPurge returns the plans of the next batch, which is rolled back.
func (d *database) plansOfPurge(t *testing.T, seen *statements) (plans []string) {
	t.Helper()
	ctx := t.Context()
	seen.forget()
	_, err := d.Upkeep.PurgeBatch(ctx, retention.Events, noon)
	require.NoError(t, err)
	tx, err := d.sql.Begin(ctx)
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(context.Background())) }()
	_, err = tx.Exec(ctx, `SELECT `+postgres.SettingsOfPlans)
	require.NoError(t, err)
	var ids []string
	rows, err := tx.Query(ctx, `SELECT id::text FROM events WHERE status = 'processed' ORDER BY id LIMIT 500`)
	require.NoError(t, err)
	ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for _, s := range seen.sent {
		switch {
		case strings.Contains(s.sql, "DELETE FROM events"):
		case strings.Contains(s.sql, "DELETE FROM event_entities"):
			s.args[0] = ids
		default:
			continue
		}
		rows, err := tx.Query(ctx, "EXPLAIN (ANALYZE, BUFFERS, WAL, COSTS OFF) "+s.sql, s.args...)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		plans = append(plans, strings.Join(lines, "\n"))
	}
	return plans
}

// under runs a function next to two senders of events, for at least some seconds, and describes their latencies.
func (d *database) under(t *testing.T, run func(context.Context)) string {
	t.Helper()
	least := 2 * time.Second
	if *purgedAt != "" {
		least = 20 * time.Second
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	done := make(chan struct{})
	var mu sync.Mutex
	var took []time.Duration
	var failed error
	var senders sync.WaitGroup
	begin := time.Now()
	for range 2 {
		senders.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				r := receiptAt(time.Now())
				at := time.Now()
				_, err := d.Writer.Write(context.WithoutCancel(ctx), event.WholeEvent, r, body, parsed(snapshot(r.Key, `{"n":1}`)), runOf(r))
				mu.Lock()
				took, failed = append(took, time.Since(at)), err
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	enough := time.After(least)
	run(ctx)
	<-enough
	close(done)
	senders.Wait()
	require.NoError(t, failed)
	all := time.Since(begin)
	slices.Sort(took)
	return fmt.Sprintf("%.0f/s, p50 %s, p99 %s, longest %s", float64(len(took))/all.Seconds(), took[len(took)/2].Round(100*time.Microsecond),
		took[len(took)*99/100].Round(100*time.Microsecond), took[len(took)-1].Round(time.Millisecond))
}

// partitionEvents splits the table into two partitions, as a migration could: for old and new events.
func (d *database) partitionEvents() {
	d.t.Helper()
	bound := event.FirstIDAt(noon)
	for _, sql := range []string{
		`ALTER TABLE events RENAME TO events_old`,
		`CREATE TABLE events (LIKE events_old INCLUDING ALL) PARTITION BY RANGE (id)`,
		`CREATE TABLE events_new (LIKE events_old INCLUDING ALL)`,
		`WITH moved AS (DELETE FROM events_old WHERE id >= '` + bound + `' RETURNING *) INSERT INTO events_new SELECT * FROM moved`,
		`ALTER TABLE events ATTACH PARTITION events_old FOR VALUES FROM (MINVALUE) TO ('` + bound + `')`,
		`ALTER TABLE events ATTACH PARTITION events_new FOR VALUES FROM ('` + bound + `') TO (MAXVALUE)`,
	} {
		d.exec(sql)
	}
	d.Pool().Reset() // prepared plans refer to the old table
}

func loadAverage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	require.NoError(t, err)
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
