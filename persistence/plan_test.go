package persistence_test

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/internal/devstack/stacktest"
	"holdfast/persistence"
	"holdfast/persistence/persistencetest"
)

// Lists, counts and folds stay cheap with large tables: an index serves them, in its order.
func TestStatementsUseTheirIndex(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := openFilled(t, func(c *persistence.Config) { c.Tracer = seen })
	db.exec(`
INSERT INTO entities (provider, kind, external_id, occurred_at)
SELECT 'acme', 'thing', 'x' || i, now() FROM generate_series(1, 5000) AS i`)
	db.exec(`UPDATE events SET possible_duplicate_of = id WHERE ctid IN (SELECT ctid FROM events LIMIT 20)`)
	db.exec(`UPDATE events SET omitted = '{}' WHERE ctid IN (SELECT ctid FROM events LIMIT 20)`)
	db.exec(`ANALYZE entities`)
	db.exec(`ANALYZE events`)
	// With tables this small a sort may be cheaper; what matters is whether an index has the order.
	db.exec(`SET enable_sort = off`)
	db.exec(`SET enable_bitmapscan = off`)
	ctx, before := t.Context(), receipt().ID
	require.NoError(t, db.Ping(ctx)) // ignore the statements of a new connection
	for _, c := range []struct {
		name  string
		run   func() error
		index string
	}{
		{"all events", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{Before: before, Limit: 50}))
		}, "events_pkey"},
		{"events of a provider", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{Provider: "rare", Limit: 50}))
		}, "events_by_provider"},
		{"events of a type", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{Provider: "p7", Type: "t1", Before: before, Limit: 50}))
		}, "events_by_type"},
		{"events of a source", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{Provider: "p7", Source: "s1", Limit: 50}))
		}, "events_by_source"},
		{"dead events", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{Status: event.StatusDead, Limit: 50}))
		}, "events_unfinished"},
		{"events that may repeat another one", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{PossibleDuplicates: true, Limit: 50}))
		}, "events_possible_duplicates"},
		{"the next page of these", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{PossibleDuplicates: true, Before: before, Limit: 50}))
		}, "events_possible_duplicates"},
		{"events that left out entities", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{WithOmitted: true, Before: before, Limit: 50}))
		}, "events_omitted"},
		{"all dead letters", func() error {
			return second(db.DeadLetters.DeadLetters(ctx, event.DeadLetterQuery{Limit: 50}))
		}, "dead_letters_by_failure"},
		{"dead letters of a provider", func() error {
			return second(db.DeadLetters.DeadLetters(ctx, event.DeadLetterQuery{Provider: "rare", Limit: 50}))
		}, "dead_letters_by_provider"},
		{"dead letters of a source", func() error {
			return second(db.DeadLetters.DeadLetters(ctx, event.DeadLetterQuery{Provider: "p7", Source: "s1", Limit: 50}))
		}, "dead_letters_by_source"},
		{"open dead letters of a provider", func() error {
			return second(db.DeadLetters.DeadLetters(ctx, event.DeadLetterQuery{
				Provider: "p7", State: event.DeadLetterOpen, Limit: 50,
				Before: &event.DeadLetterCursor{LastFailed: time.Now(), ID: 1},
			}))
		}, "dead_letters_by_state"},
		{"open dead letters", func() error {
			return second(db.DeadLetters.DeadLetters(ctx, event.DeadLetterQuery{State: event.DeadLetterOpen, Limit: 50}))
		}, "dead_letters_by_state_only"},
		{"dead letters of a class", func() error {
			return second(db.DeadLetters.DeadLetters(ctx, event.DeadLetterQuery{Class: event.ClassRejected, Limit: 50}))
		}, "dead_letters_by_class"},
		{"dead letters of a code", func() error {
			return second(db.DeadLetters.DeadLetters(ctx, event.DeadLetterQuery{Code: "c7", Limit: 50}))
		}, "dead_letters_by_code"},
		{"dead letters of a type", func() error {
			return second(db.DeadLetters.DeadLetters(ctx, event.DeadLetterQuery{Type: "t7", Limit: 50}))
		}, "dead_letters_by_type"},
		{"dead letters of a workflow", func() error {
			return second(db.DeadLetters.DeadLetters(ctx, event.DeadLetterQuery{WorkflowID: "p:7", Limit: 50}))
		}, "dead_letters_by_workflow"},
		{"dead letters of some minutes", func() error {
			return second(db.DeadLetters.DeadLetters(ctx, event.DeadLetterQuery{
				Since: time.Now().Add(-time.Hour), Until: time.Now().Add(-50 * time.Minute), Limit: 50,
			}))
		}, "dead_letters_by_failure"},
		{"events of some minutes", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{
				Provider: "p7", Since: time.Now().Add(-time.Hour), Until: time.Now(), Limit: 50,
			}))
		}, "events_by_provider"},
		{"events of a key", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{Provider: "p7", Key: "7", Limit: 50}))
		}, "events_by_workflow"},
		{"events of a key that a corrected definition has given", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{Provider: "p7", Key: "7", Limit: 50}))
		}, "idempotency_keys_pkey"},
		{"events of a key, in batches", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{Provider: "p7", Key: "7", Limit: 50}))
		}, "events_by_batched_key"},
		{"all that was audited", func() error {
			return second(db.Audit.AuditLog(ctx, oversight.AuditQuery{Limit: 50, Since: time.Now().Add(-time.Hour)}))
		}, "audit_log_by_time"},
		{"what one actor did", func() error {
			return second(db.Audit.AuditLog(ctx, oversight.AuditQuery{Actor: "a7", Limit: 50, Before: 5000}))
		}, "audit_log_by_actor"},
		{"what was done to one thing", func() error {
			return second(db.Audit.AuditLog(ctx, oversight.AuditQuery{Object: "o7", Limit: 50}))
		}, "audit_log_by_object"},
		{"the next page of a timeline", func() error {
			return second(db.Read.TimelinePage(ctx, event.TimelineQuery{
				Entity: thing("1"), Limit: 50, Before: &event.LinkCursor{OccurredAt: noon, EventID: before},
			}))
		}, "event_entities_changes"},
		{"a timeline", func() error { return second(db.Read.Timeline(ctx, thing("1"))) }, "event_entities_changes"},
		{"errors of a phase", func() error {
			return second(db.Errors.Errors(ctx, oversight.ErrorQuery{Phase: event.PhaseParse, Before: 5000, Limit: 50}))
		}, "error_log_by_phase"},
		{"errors of a provider", func() error {
			return second(db.Errors.Errors(ctx, oversight.ErrorQuery{Provider: "rare", Limit: 50}))
		}, "error_log_by_provider"},
		{"errors of a code", func() error {
			return second(db.Errors.Errors(ctx, oversight.ErrorQuery{Class: event.ClassFailed, Code: "c7", Limit: 50}))
		}, "error_log_by_class"},
		{"errors of an event", func() error {
			return second(db.Errors.Errors(ctx, oversight.ErrorQuery{EventID: before, Limit: 50}))
		}, "error_log_by_event"},
	} {
		seen.forget()
		_ = c.run() // not found is fine here
		plan := seen.plan(t, db)
		require.Contains(t, plan, c.index, c.name)
		require.NotContains(t, plan, "Seq Scan", c.name+"\n"+plan)
		require.NotRegexp(t, `(?m)(^|->  )(Incremental )?Sort$`, plan, c.name+"\n"+plan)
	}
}

// Lists in an order that no index has read few rows, and sort those.
func TestListsWithoutAnOrderReadLittle(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := openFilled(t, func(c *persistence.Config) { c.Tracer = seen })
	fillLinks(db)
	db.exec(`ANALYZE`)
	ctx, ref := t.Context(), thing("1")
	require.NoError(t, db.Ping(ctx))
	for _, c := range []struct {
		name  string
		run   func() error
		index string
	}{
		{"events of a type, of all providers", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{Type: "t1", Limit: 50}))
		}, "events_by_type"},
		{"events of a key, of all providers", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{Key: "7", Limit: 50}))
		}, "events_by_workflow"},
		{"events of a key that a corrected definition has given, of all providers", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{Key: "7", Limit: 50}))
		}, "idempotency_keys_pkey"},
		{"events of a key, in batches of all providers", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{Key: "7", Limit: 50}))
		}, "events_by_batched_key"},
		{"events of an entity", func() error {
			return second(db.Read.Events(ctx, event.RecordQuery{Entity: &ref, Limit: 50}))
		}, "event_entities"},
		{"dead letters of an event", func() error {
			return second(db.DeadLetters.DeadLetters(ctx, event.DeadLetterQuery{EventID: receipt().ID, Limit: 50}))
		}, "dead_letters_by_event"},
		{"an entity as of a moment", func() error {
			return second(db.Entities.EntityAsOf(ctx, ref, noon.Add(-25*time.Hour)))
		}, "event_entities_changes"},
		{"a cleanup", func() error {
			return second(db.DeadLetters.CleanUpDeadLetters(ctx, operation.Cleanup{Before: noon, Limit: 10}, ada))
		}, "dead_letters_closed"},
		{"unreported failures", func() error { return third(db.Errors.ClaimAlerts(ctx)) }, "dead_letters_to_notify"},
	} {
		seen.forget()
		_ = c.run()
		plan := seen.planOf(t, db, "EXPLAIN ", func(sql string) bool {
			small := regexp.MustCompile(`FROM (notification_claims|entities|entity_names|entity_checkpoints)\b`) // few rows, if any
			return strings.Contains(sql, "FROM") && !small.MatchString(sql)
		})
		require.Contains(t, plan, c.index, c.name)
		require.NotContains(t, plan, "Seq Scan", c.name+"\n"+plan)
	}
}

func TestALateChangeReadsFromTheLastSnapshotOn(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := openFilled(t, func(c *persistence.Config) { c.Tracer = seen }) // 5000 snapshots of one entity
	r, p := receipt(), parsed(patch("1", `{"late":1}`))
	p.OccurredAt = noon.Add(-25 * time.Hour)
	_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r))
	require.NoError(t, err)
	require.NoError(t, db.UpsertEntities(t.Context(), r, p, runOf(r)))

	for _, of := range []string{"op <> 'patch' AND", "LIMIT $9"} {
		plan := seen.planOf(t, db, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ", func(sql string) bool {
			return strings.Contains(sql, "FROM event_entities") && strings.Contains(sql, of)
		})
		require.NotContains(t, plan, "Seq Scan", plan)
		scans := regexp.MustCompile(`event_entities_changes.*actual rows=(\d+)`).FindAllStringSubmatch(plan, -1)
		require.Len(t, scans, 1, plan)
		require.LessOrEqual(t, len(scans[0][1]), 1, "it reads the last of thousands of snapshots, and the change\n"+plan)
	}
}

// openFilled is open with tables so large that a plan can go wrong. They are filled once and copied.
func openFilled(t *testing.T, change ...func(*persistence.Config)) *database {
	t.Helper()
	stacktest.SkipIfShort(t)
	require.NoError(t, filled())
	return openURL(t, persistencetest.Cluster.Copy(t, "filled"), change...)
}

var filled = sync.OnceValue(func() error {
	return persistencetest.Cluster.Prepare("filled", func(url string) error {
		conn, err := pgx.Connect(context.Background(), url)
		if err != nil {
			return err
		}
		fill(func(statement string, args ...any) {
			_, failed := conn.Exec(context.Background(), statement, args...)
			err = errors.Join(err, failed)
		})
		return errors.Join(err, conn.Close(context.Background()))
	})
})

func fill(exec func(statement string, args ...any)) {
	exec(`
INSERT INTO events (id, provider, source, key, key_from, type, status, outcome, raw_body, headers, receipt,
       payload_note, occurred_at, occurred_at_missing, received_at, processed_at, workflow_id, run_id, request_id,
       correlation_id)
SELECT lpad(to_hex(i), 32, '0')::uuid, CASE WHEN i % 200 = 1 THEN 'rare' ELSE 'p' || i % 50 END,
       CASE WHEN i % 20 = 0 THEN 's' || i % 7 ELSE '' END, i, 'event',
       't' || i % 7, CASE WHEN i % 500 = 0 THEN 'dead' ELSE 'processed' END, 'processed', '', '{}', '{}',
       '', now(), false, now(), current_timestamp, 'p' || i % 50 || ':' || i, '', '', ''
  FROM generate_series(1, 20000) AS i`)
	exec(`INSERT INTO idempotency_keys (provider, key, event_id, first_seen) SELECT provider, key, id, received_at FROM events`)
	exec(`
INSERT INTO dead_letters (event_id, provider, source, key, type, receipt, raw_body, state, step, error_class, error_code,
       error_message, attempts, first_failed_at, last_failed_at, workflow_id, run_id, resolved_at, resolved_run_id)
SELECT lpad(to_hex(i), 32, '0')::uuid, CASE WHEN i % 200 = 1 THEN 'rare' ELSE 'p' || i % 50 END,
       CASE WHEN i % 20 = 0 THEN 's' || i % 7 ELSE '' END, i, 't' || i % 300, '{}', '', CASE WHEN i % 100 = 0 THEN 'open' ELSE 'resolved' END, 'parse',
       CASE WHEN i % 100 = 7 THEN 'rejected' ELSE 'failed' END, 'c' || i % 200,
       '', 1, now(), now() - i * interval '1 s', 'p:' || i, '', now(), ''
  FROM generate_series(1, 20000) AS i`)
	exec(`
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT lpad(to_hex(i), 32, '0')::uuid, 'acme', 'thing', '1', 1, 'snapshot', '{}',
       $1::timestamptz - i * interval '1 day'
  FROM generate_series(1, 5000) AS i`, noon)
	exec(`
INSERT INTO entities (provider, kind, external_id, occurred_at, last_event_id)
SELECT provider, kind, external_id, occurred_at, event_id
  FROM event_entities ORDER BY occurred_at DESC LIMIT 1`)
	exec(`
INSERT INTO audit_log (at, actor, role, action, object, request_id, reason)
SELECT now() - i * interval '1 min', 'a' || i % 300, '', 'x' || i % 7, 'o' || i, '', '' FROM generate_series(1, 20000) AS i`)
	exec(`
INSERT INTO error_log (at, phase, provider, error_class, error_code, error_message, event_id)
SELECT now() - i * interval '1 s', CASE WHEN i % 100 = 0 THEN 'parse' ELSE 'persist' END,
       CASE WHEN i % 200 = 1 THEN 'rare' ELSE 'p' || i % 50 END, 'failed', 'c' || i % 70, '', lpad(to_hex(i), 32, '0')::uuid
  FROM generate_series(1, 20000) AS i`)
	exec(`UPDATE dead_letters SET notified_failures = failures WHERE id % 1000 <> 0`)
	exec(`
INSERT INTO entity_names (provider, kind, name, external_id, rank)
SELECT 'acme', 'thing', 'n' || i, 'e' || i / 3, 0 FROM generate_series(1, 20000) AS i`)
	exec(`WITH d AS (INSERT INTO destinations (name, settings, version) VALUES ('to', '{}', 1) RETURNING id)
INSERT INTO subscriptions (name, destination_id, settings, active, version)
SELECT 'named ' || i, id, '{}', false, 1 FROM d CROSS JOIN generate_series(1, 5000) AS i`)
	exec(`ANALYZE`)
}

func second[T any](_ T, err error) error { return err }

func third[S, T any](_ S, _ T, err error) error { return err }

// The statements of an event's steps stay cheap with large tables, for new events and for duplicates.
func TestStepsUseAnIndexForEverything(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := openFilled(t, func(c *persistence.Config) { c.Tracer = seen })
	db.exec(`
INSERT INTO entities (provider, kind, external_id, occurred_at, last_event_id)
SELECT 'acme', 'thing', 'e' || i, now(), lpad(to_hex(i), 32, '0')::uuid FROM generate_series(1, 20000) AS i`)
	db.exec(`
INSERT INTO idempotency_keys (provider, key, event_id, first_seen)
SELECT 'acme', 'k' || i, lpad(to_hex(i), 32, '0')::uuid, now() FROM generate_series(1, 20000) AS i`)
	fillLinks(db)
	db.exec(`INSERT INTO decisions (event_id, decision, by, reason)
SELECT gen_random_uuid(), 'discarded', 'ada', 'x' FROM generate_series(1, 5000)`)
	db.exec(`ANALYZE`)
	r, p := receipt(), parsed(snapshot("e7", `{"a":1}`), patch("new", `{"a":1}`))
	p.OccurredAt = time.Now().Add(time.Hour)
	require.NoError(t, db.Subscriptions.Refresh(t.Context())) // the first refresh reads all destinations
	seen.forget()
	for range 2 {
		db.process(r, p)
	}
	explained := 0
	for _, sent := range seen.sent {
		if !regexp.MustCompile(`\b(FROM|INTO|UPDATE)\b`).MatchString(sent.sql) {
			continue // begin, commit, a lock
		}
		if strings.Contains(sent.sql, "FROM destinations") || strings.Contains(sent.sql, "FROM subscriptions AS") {
			continue // these are read completely, once
		}
		only := &statements{sent: []statement{sent}}
		plan := strings.ReplaceAll(only.plan(t, db), "Seq Scan on subscriptions_head", "the only row")
		require.NotContains(t, plan, "Seq Scan", sent.sql)
		explained++
	}
	require.GreaterOrEqual(t, explained, 20)
}

// A statement that is planned again for every event costs more to plan than to run.
func TestTheStepsOfANewEventKeepTheirPlans(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *persistence.Config) { c.MaxConns = 1 })
	const events, tries = 20, 5 // a generic plan is used after five custom ones
	for i := range events {
		p := parsed(snapshot("own", `{"a":1}`), patch("thing"+strconv.Itoa(i), `{"a":1}`))
		p.OccurredAt = noon.Add(time.Duration(i) * time.Second)
		db.process(receipt(), p)
	}
	plans, err := db.CustomPlans(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(plans), 10)
	for statement, n := range plans {
		require.LessOrEqual(t, n, tries, statement)
	}
}
