package persistence_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence"
	"holdfast/persistence/entities"
	"holdfast/persistence/writer"
)

// However many of an event's entities other transactions create first, the event is not at fault.
func TestLostRacesDoNotCountAgainstTheEvent(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *persistence.Config) { c.LockTimeout = time.Minute })
	r := receipt()
	var changes []event.Change
	var makers []*pgx.Conn
	for n := range 3 {
		id := fmt.Sprint(n)
		changes = append(changes, snapshot(id, `{"n":1}`))
		maker := connect(t, db.url)
		_, err := maker.Exec(t.Context(), `BEGIN`)
		require.NoError(t, err)
		_, err = maker.Exec(t.Context(), `INSERT INTO entities (provider, kind, external_id) VALUES ('acme', 'thing', $1)`, id)
		require.NoError(t, err)
		makers = append(makers, maker)
	}
	_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(changes...), runOf(r))
	require.NoError(t, err)
	failed := make(chan error, 1)
	go func() { failed <- db.UpsertEntities(t.Context(), r, parsed(changes...), runOf(r)) }()
	for _, maker := range makers {
		db.onBlock(maker)
		_, err := maker.Exec(t.Context(), `COMMIT`)
		require.NoError(t, err)
	}
	if err := <-failed; err != nil {
		require.Equal(t, event.ClassTransient, event.ClassOf(err), "%v", err)
	}
	require.NoError(t, db.UpsertEntities(t.Context(), r, parsed(changes...), runOf(r)))
}

// An event that owns its key and has no row was purged, or never stored: there is nothing to finish.
func TestAnImportedKeyMakesNoRow(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, p := receipt(), parsed(snapshot("1", `{"n":1}`))
	_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r))
	require.NoError(t, err)
	db.exec(`DELETE FROM events`)
	require.Equal(t, "not_persisted", event.CodeOf(db.UpsertEntities(t.Context(), r, p, runOf(r))))
	require.Zero(t, value[int](db, `SELECT count(*) FROM event_entities`))
}

// An ID has the same meaning in any valid notation.
func TestAnIDInAnotherFormIsTheSameEvent(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, p := receipt(), parsed(snapshot("1", `{"n":1}`))
	db.mustProcess(r, p)
	r.ID = r.ID[0:8] + r.ID[9:13] + r.ID[14:18] + r.ID[19:23] + r.ID[24:]
	require.Equal(t, event.Persisted{Processed: true}, db.mustProcess(r, p))
	r.ID = "no UUID"
	_, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, p, runOf(r))
	require.Equal(t, event.ClassRejected, event.ClassOf(err))
}

// panicking panics on the statements that it is armed for.
type panicking struct {
	statementCount

	armed atomic.Bool
}

func (p *panicking) TraceBatchStart(ctx context.Context, c *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	if p.armed.CompareAndSwap(true, false) {
		panic("of a tracer")
	}
	return p.statementCount.TraceBatchStart(ctx, c, d)
}

// A group is written by a goroutine without a caller, where a panic would end the process.
func TestAPanicCostsAnEventAndNotTheProcess(t *testing.T) {
	t.Parallel()
	tracer := &panicking{}
	db := open(t, func(c *persistence.Config) { c.Tracer, c.MaxConns = tracer, 1 })
	r, p := receipt(), parsed(snapshot("1", `{"n":1}`))
	db.mustProcess(receipt(), p) // the first one reads the subscriptions
	for range 3 {                // and it keeps no connection
		tracer.armed.Store(true)
		_, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, p, runOf(r))
		require.Equal(t, "panic", event.CodeOf(err))
		tracer.armed.Store(true)
		_, err = db.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneOverflow, receipt(), body, false)
		require.Equal(t, "panic", event.CodeOf(err))
		require.ErrorContains(t, err, "panicked with a string")
	}
	require.Equal(t, event.Persisted{Processed: true}, db.mustProcess(r, p))
}

// An event that can't wait for a lock now, because too many others do, goes on at once: it is stored without its entities.
func TestNoWriteQueuesForALock(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.process(receipt(), parsed(snapshot("held", `{"n":1}`)))
	db.writeAs(entities.Config{}, writer.Config{Waiters: -1})
	release := db.hold(`SELECT FROM entities FOR UPDATE`)
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r := receipt()
	_, err := db.Writer.Write(ctx, event.WholeEvent, r, body, parsed(snapshot("held", `{"n":2}`)), runOf(r))
	require.Equal(t, "lock_not_available", event.CodeOf(err))
}

// A batch that can't remove an event reports why, and doesn't retry forever.
func TestAnEventThatCannotLeaveItsBatch(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.exec(`ALTER TABLE inbox ADD CONSTRAINT stuck CHECK (lane <> 'overflow')`)
	r := db.bulk(receipt())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := db.Writer.ProcessBatch(ctx, 10, newBatchRun(), func(event.Receipt, []byte) (event.Parsed, error) {
		return event.Parsed{}, event.Rejectf("poison", "it cannot be parsed")
	})
	require.Equal(t, "check_violation", event.CodeOf(err))
	require.Equal(t, r.ID, value[string](db, `SELECT event_id::text FROM inbox WHERE lane = 'bulk'`))
}

// Keys are locked before entities, also by operators' changes: a transaction that waits for a key holds no entity that the owner
// of the key may need.
func TestAnExpungeWaitsForKeysBeforeItHoldsEntities(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *persistence.Config) { c.LockTimeout = time.Minute })
	r := receipt()
	r.Fingerprint = "sha256:a"
	db.process(r, parsed(snapshot("1", `{"n":1}`)))
	db.exec(`DELETE FROM idempotency_keys`) // its window has ended
	claimer := connect(t, db.url)
	_, err := claimer.Exec(t.Context(), `BEGIN`)
	require.NoError(t, err)
	_, err = claimer.Exec(t.Context(), `INSERT INTO idempotency_keys (provider, key, event_id, first_seen) VALUES ($1, $2, $3, now())`,
		r.Provider, r.Key, receipt().ID)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := db.Upkeep.Expunge(t.Context(), r.ID, 0, ada)
		done <- err
	}()
	db.onBlock(claimer)
	_, err = claimer.Exec(t.Context(), `SELECT FROM entities FOR UPDATE NOWAIT`)
	require.NoError(t, err)
	_, err = claimer.Exec(t.Context(), `ROLLBACK`)
	require.NoError(t, err)
	require.NoError(t, <-done)
}

// The key kept by a decision has the fingerprint of the body, so that another event with the key is not lost without a trace.
func TestADecisionKeepsTheFingerprint(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	r.Fingerprint = "sha256:a"
	db.record(deadLetter(r)) // it failed before it had its key
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), db.deadLetterOf(r).ID, ada))
	other := sameKey(r, time.Minute)
	other.Fingerprint = "sha256:b"
	require.NotNil(t, db.mustProcess(other, parsed()).Conflict)
}

// An event that is buried as a duplicate without being one is a conflict, like any other event whose key has another owner.
func TestDrainBuriesNoConflictWithoutATrace(t *testing.T) {
	t.Parallel()
	db := open(t)
	owner := receipt()
	owner.Fingerprint = "sha256:a"
	db.process(owner, parsed())
	other := sameKey(owner, time.Minute)
	other.Fingerprint = "sha256:b"
	_, err := db.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneOverflow, other, body, false)
	require.NoError(t, err)
	dead := event.StartOutcome{Dead: &event.Failure{
		Step: event.StepStart, Class: event.ClassRejected, Code: "not_startable", Message: "too large", Attempts: 1, At: noon,
	}}
	var seen []event.Waiting
	_, err = db.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 9, all(dead, &seen))
	require.NoError(t, err)
	require.Len(t, db.conflicts(), 1)
}
