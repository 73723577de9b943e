package persistence_test

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence"
)

// bulk adds an event to the bulk lane.
func (d *database) bulk(r event.Receipt) event.Receipt {
	d.t.Helper()
	stored, err := d.Inbox.NewInboxWriter().Spool(d.t.Context(), event.LaneBulk, r, body, false)
	require.NoError(d.t, err)
	require.True(d.t, stored)
	return r
}

// batch processes the pending events; all make the same change, except those in changes.
func (d *database) batch(run event.Run, changes map[string]event.Change) []event.Batched {
	d.t.Helper()
	b, err := d.Writer.ProcessBatch(d.t.Context(), 100, run, func(r event.Receipt, _ []byte) (event.Parsed, error) {
		if change, ok := changes[r.ID]; ok {
			return parsed(change), nil
		}
		return parsed(snapshot("1", `{"n":1}`)), nil
	})
	require.NoError(d.t, err)
	return b
}

func outcomes(events []event.Batched) map[string]event.Outcome {
	all := map[string]event.Outcome{}
	for _, e := range events {
		all[e.Receipt.ID] = e.Outcome
	}
	return all
}

// An event that PostgreSQL refuses leaves the batch alone, at any position; the others are processed.
func TestPoisonLeavesTheBatch(t *testing.T) {
	t.Parallel()
	db := open(t)
	changes, want := map[string]event.Change{}, map[string]event.Outcome{}
	for i := range 17 {
		r := db.bulk(receipt())
		if want[r.ID] = event.OutcomeProcessed; i == 0 || i == 9 || i == 10 || i == 16 {
			changes[r.ID] = snapshot(incompressible(9000), `{}`) // too large for an index
			want[r.ID] = event.OutcomeLeft
		}
	}
	var b []event.Batched
	for len(b) < len(want) { // on a slow machine, events that don't fit into the time stay for the next batch
		next := db.batch(newBatchRun(), changes)
		require.NotEmpty(t, next)
		b = append(b, next...)
	}
	require.Equal(t, want, outcomes(b))
	for _, e := range b {
		if e.Outcome == event.OutcomeLeft {
			require.Equal(t, "program_limit_exceeded", event.CodeOf(e.Reason))
			require.Equal(t, event.ClassRejected, event.ClassOf(e.Reason))
		}
	}
	require.Equal(t, 13, value[int](db, `SELECT count(*) FROM events WHERE status = 'processed'`))
	require.Equal(t, 13, value[int](db, `SELECT count(*) FROM event_entities`))
	require.Equal(t, 13, value[int](db, `SELECT count(*) FROM idempotency_keys`), "what left owns no key yet")
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM entities`))
	require.Equal(t, 4, value[int](db, `SELECT count(*) FROM inbox WHERE lane = 'overflow'`))
	require.Zero(t, value[int](db, `SELECT count(*) FROM inbox WHERE lane = 'bulk'`))
}

// A redelivery is a duplicate in its batch if the first event was processed. It leaves the batch if that has an open dead letter,
// or was never finished.
func TestRedeliveriesInABatch(t *testing.T) {
	t.Parallel()
	db := open(t)
	again := func(r event.Receipt) event.Receipt {
		r.ID, r.ReceivedAt = uuid.Must(uuid.NewV7()).String(), r.ReceivedAt.Add(time.Minute)
		return db.bulk(r)
	}
	processed, dead, stuck, discarded := receipt(), receipt(), receipt(), receipt()
	db.process(processed, parsed())
	require.NoError(t, db.DeadLetters.RecordDeadLetter(t.Context(), deadLetter(dead)))
	_, err := db.Writer.Write(t.Context(), event.RowOnly, stuck, body, parsed(), runOf(stuck))
	require.NoError(t, err)
	_, err = db.Writer.Write(t.Context(), event.RowOnly, discarded, body, parsed(), runOf(discarded))
	require.NoError(t, err)
	require.NoError(t, db.DeadLetters.RecordDeadLetter(t.Context(), deadLetter(discarded)))
	db.exec(`UPDATE dead_letters SET state = 'discarded', discarded_at = now(), discard_reason = 'x' WHERE event_id = $1`, discarded.ID)
	purged := receipt()
	db.process(purged, parsed())
	db.exec(`DELETE FROM events WHERE id = $1`, purged.ID)

	want := map[string]event.Outcome{
		again(processed).ID: event.OutcomeDuplicate, again(purged).ID: event.OutcomeDuplicate,
		again(dead).ID: event.OutcomeLeft, again(stuck).ID: event.OutcomeLeft, again(discarded).ID: event.OutcomeLeft,
		db.bulk(receipt()).ID: event.OutcomeProcessed,
	}
	b := db.batch(newBatchRun(), nil)
	require.Equal(t, want, outcomes(b))
	for _, e := range b {
		if e.Receipt.Key == processed.Key {
			require.Equal(t, processed.ID, e.Owner)
		}
		require.NotEmpty(t, e.Receipt.Key, "the history names every event")
	}
	require.Equal(t, 3, value[int](db, `SELECT count(*) FROM inbox`))
}

// The tables show what a run has processed, also in several transactions, so that an attempt whose result was lost isn't
// repeated.
func TestBatchesOfARun(t *testing.T) {
	t.Parallel()
	db := open(t)
	run := newBatchRun()
	none, err := db.Writer.BatchedBy(t.Context(), run)
	require.NoError(t, err)
	require.Empty(t, none)
	first := db.bulk(receipt())
	require.Len(t, db.batch(run, nil), 1)
	second := db.bulk(receipt())
	require.Len(t, db.batch(run, nil), 1)
	db.bulk(receipt())

	b, err := db.Writer.BatchedBy(t.Context(), run)
	require.NoError(t, err)
	require.Len(t, b, 2)
	require.Equal(t, second.ID, b[1].Receipt.ID)
	got := b[0]
	require.Equal(t, []any{first.ID, first.Key, first.Provider, "thing.changed", event.OutcomeProcessed},
		[]any{got.Receipt.ID, got.Receipt.Key, got.Receipt.Provider, got.Type, got.Outcome})
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM inbox`))
	oldest, newest, err := db.Inbox.BulkPositions(t.Context())
	require.NoError(t, err)
	require.Positive(t, oldest)
	require.Equal(t, oldest, newest)

	record, err := db.Read.EventByKey(t.Context(), first.Provider, first.Key)
	require.NoError(t, err)
	require.Equal(t, run, record.Run, "the event names the run that has it in its history")
	for _, provider := range []string{first.Provider, ""} {
		page, err := db.Read.Events(t.Context(), event.RecordQuery{Provider: provider, Key: first.Key})
		require.NoError(t, err)
		require.Len(t, page, 1)
		require.Equal(t, first.ID, page[0].Receipt.ID)
	}
	workflowIDs, err := db.Upkeep.WorkflowsOf(t.Context(), first.ID)
	require.NoError(t, err)
	require.Equal(t, []string{first.WorkflowID()}, workflowIDs, "the run of a batch is not one event's to be deleted")
	id, err := db.Upkeep.EventOfWorkflow(t.Context(), first.WorkflowID())
	require.NoError(t, err)
	require.Equal(t, first.ID, id)
}

// Concurrent batches share the work and the entities, and each event is in one of them.
func TestConcurrentBatches(t *testing.T) {
	t.Parallel()
	db := open(t)
	const n = 200
	for range n {
		db.bulk(receipt())
	}
	var took atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				b, err := db.Writer.ProcessBatch(context.Background(), 10, newBatchRun(), func(r event.Receipt, _ []byte) (event.Parsed, error) {
					return parsed(patch("shared", `{"`+r.ID+`":1}`), patch(r.ID[30:31], `{}`)), nil
				})
				if err != nil || len(b) == 0 {
					if err != nil {
						took.Add(1000)
					}
					return
				}
				took.Add(int32(len(b)))
			}
		})
	}
	all.Wait()
	require.EqualValues(t, n, took.Load())
	// On a busy machine they may block each other for too long: events that left the lane for that reason are not lost.
	left := value[int](db, `SELECT count(*) FROM inbox WHERE lane = 'overflow'`)
	require.Less(t, left, n/2)
	require.Equal(t, n-left, value[int](db, `SELECT count(*) FROM events`))
	require.Equal(t, n-left, value[int](db, `SELECT count(*) FROM jsonb_object_keys((SELECT state FROM entities WHERE external_id = 'shared'))`))
}

// While the database fails, nothing leaves the inbox.
func TestTransientTroubleKeepsTheBatch(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.bulk(receipt())
	_, err := db.Writer.ProcessBatch(t.Context(), 10, newBatchRun(), func(event.Receipt, []byte) (event.Parsed, error) {
		db.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		return parsed(snapshot("1", `{"n":2}`)), nil
	})
	require.Equal(t, event.ClassTransient, event.ClassOf(err))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM inbox WHERE lane = 'bulk'`))
	processed := func() bool { return len(db.batch(newBatchRun(), nil)) == 1 }
	require.Eventually(t, processed, 10*time.Second, 10*time.Millisecond, "the lock of a backend that was ended goes with it")
}

// hold runs a statement in another transaction, and returns the function that ends it.
func (d *database) hold(statement string, args ...any) (release func()) {
	d.t.Helper()
	tx, err := connect(d.t, d.url).Begin(d.t.Context())
	require.NoError(d.t, err)
	_, err = tx.Exec(d.t.Context(), statement, args...)
	require.NoError(d.t, err)
	return func() { require.NoError(d.t, tx.Rollback(context.Background())) }
}

// Events that need a locked row leave the batch, and wait alone: for an entity, a new one, or a key.
func TestAnEventThatWaitsForALockLeavesTheBatch(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]func(db *database, r event.Receipt) func(){
		"an entity": func(db *database, _ event.Receipt) func() {
			return db.hold(`SELECT FROM entities WHERE external_id = 'held' FOR UPDATE`)
		},
		"an entity that is being made": func(db *database, _ event.Receipt) func() {
			db.exec(`DELETE FROM entities WHERE external_id = 'held'`)
			return db.hold(`INSERT INTO entities (provider, kind, external_id) VALUES ('acme', 'thing', 'held')`)
		},
		"a key": func(db *database, r event.Receipt) func() {
			return db.hold(`INSERT INTO idempotency_keys (provider, key, event_id, first_seen) VALUES ('acme', $1, $2, now())`,
				r.Key, receipt().ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			db.process(receipt(), parsed(snapshot("held", `{}`)))
			changes, want := map[string]event.Change{}, map[string]event.Outcome{}
			var culprit event.Receipt
			for i := range 40 {
				r := db.bulk(receipt())
				if want[r.ID] = event.OutcomeProcessed; i == 3 {
					culprit, changes[r.ID], want[r.ID] = r, snapshot("held", `{"n":1}`), event.OutcomeLeft
				}
			}
			release := hold(db, culprit)
			seen := map[string]event.Outcome{}
			for len(seen) < len(want) {
				b := db.batch(newBatchRun(), changes)
				require.NotEmpty(t, b, "each batch settles something")
				maps.Copy(seen, outcomes(b))
			}
			require.Equal(t, want, seen)
			require.Equal(t, 1, value[int](db, `SELECT count(*) FROM inbox WHERE lane = 'overflow'`))
			require.Zero(t, value[int](db, `SELECT count(*) FROM inbox WHERE lane = 'bulk'`))
			release()
			db.process(culprit, parsed(snapshot("held", `{"n":1}`)))
		})
	}
}

// If all events change the same locked entity, they leave together: checking them one by one would take too long.
func TestAllWhoWaitForAnEntityLeaveTogether(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.process(receipt(), parsed(snapshot("1", `{}`)))
	for range 60 {
		db.bulk(receipt())
	}
	release := db.hold(`SELECT FROM entities FOR UPDATE`)
	defer release()
	b := db.batch(newBatchRun(), nil)
	require.Len(t, b, 60)
	for _, e := range b {
		require.Equal(t, event.OutcomeLeft, e.Outcome)
		require.Equal(t, "lock_not_available", event.CodeOf(e.Reason))
	}
}

// A statement that times out may be one event's fault, too; a batch that searches for that event commits its findings.
func TestAStatementThatDoesNotEndLeavesTheBatch(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.exec(`CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN IF NEW.change ? 'hang' THEN PERFORM pg_sleep(60); END IF; RETURN NEW; END $$`)
	db.exec(`CREATE TRIGGER hang BEFORE INSERT ON event_entities FOR EACH ROW EXECUTE FUNCTION hang()`)
	changes := map[string]event.Change{}
	for i := range 8 {
		if r := db.bulk(receipt()); i == 2 {
			changes[r.ID] = snapshot("1", `{"hang":true}`)
		}
	}
	left := 0
	for n := 0; n < 8; {
		b := db.batch(newBatchRun(), changes)
		require.NotEmpty(t, b)
		n += len(b)
		for _, e := range b {
			if e.Outcome == event.OutcomeLeft {
				left++
				require.Equal(t, "query_canceled", event.CodeOf(e.Reason))
			}
		}
	}
	require.Equal(t, 1, left)
	require.Equal(t, 7, value[int](db, `SELECT count(*) FROM events WHERE status = 'processed'`))
}

// The number of statements does not grow with the batch.
func TestStatementsOfABatch(t *testing.T) {
	t.Parallel()
	count := &statementCount{}
	db := open(t, func(c *persistence.Config) { c.Tracer = count })
	of := func(n int) int64 {
		for range n {
			db.bulk(receipt())
		}
		before := count.n.Load()
		require.Len(t, db.batch(newBatchRun(), nil), n)
		return count.n.Load() - before
	}
	of(1) // a new entity
	require.Equal(t, of(2), of(90))
}

// statementCount counts statements sent: single ones, those of pipelines, and copies.
type statementCount struct{ n atomic.Int64 }

func (s *statementCount) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.n.Add(1)
	return ctx
}

func (*statementCount) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (*statementCount) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (s *statementCount) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {
	s.n.Add(1)
}

func (*statementCount) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (s *statementCount) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	s.n.Add(1)
	return ctx
}

func (*statementCount) TraceCopyFromEnd(context.Context, *pgx.Conn, pgx.TraceCopyFromEndData) {}

// A receipt that this version can't read becomes a dead letter with its bytes, in whichever lane it is, and blocks nothing.
func TestAnUnreadableReceiptBecomesADeadLetter(t *testing.T) {
	t.Parallel()
	newer := []byte(`{"id":{"v":8},"headers":["a","b"]}`)
	for name, unread := range map[string][]byte{
		"a newer one": newer, "no JSON": []byte("\x00\xff"), "empty": {}, "of nobody": []byte(`{}`), "null": []byte(`null`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			first := d.spool(event.LaneBulk, 1)[0]
			second := d.spool(event.LaneOverflow, 1)[0]
			d.exec(`UPDATE inbox SET receipt = $1`, unread)
			good := d.spool(event.LaneOverflow, 5)

			page, err := d.Inbox.Inbox(t.Context(), event.InboxQuery{})
			require.NoError(t, err)
			require.Len(t, page, 7)
			require.Equal(t, "this version cannot read the receipt in the inbox", page[0].LastError)
			require.Equal(t, []string{first.ID, first.Provider, first.Key},
				[]string{page[0].Receipt.ID, page[0].Receipt.Provider, page[0].Receipt.Key})

			b := d.batch(newBatchRun(), nil)
			require.Len(t, b, 1)
			require.Equal(t, "malformed_receipt", event.CodeOf(b[0].Reason))
			require.Equal(t, first.ID, b[0].Receipt.ID)
			var seen []event.Waiting
			n, err := d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 9, all(event.StartOutcome{Started: true}, &seen))
			require.NoError(t, err)
			require.Equal(t, 7, n)
			require.Len(t, seen, len(good))
			require.Zero(t, value[int](d, `SELECT count(*) FROM inbox`))

			for _, r := range []event.Receipt{first, second} {
				letter, err := d.DeadLetters.DeadLetterOfEvent(t.Context(), r.ID)
				require.NoError(t, err)
				require.Equal(t, event.DeadLetterOpen, letter.State)
				require.Equal(t, "malformed_receipt", letter.Failure.Code)
				require.Equal(t, body, letter.Body)
				require.Equal(t, r.WorkflowID(), letter.Run.WorkflowID)
				require.Equal(t, unread, value[[]byte](d, `SELECT unread_receipt FROM dead_letters WHERE event_id = $1`, r.ID))
				d.process(letter.Receipt, parsed()) // its replay
			}
			require.Zero(t, value[int](d, `SELECT count(*) FROM dead_letters WHERE state = 'open'`))
		})
	}
}

// Whether the first event of a key is processed in one step, in a batch, or in two steps: its fingerprint is on record.
func TestEveryClaimKeepsTheFingerprint(t *testing.T) {
	t.Parallel()
	d := open(t)
	direct, batched, stepwise := receipt(), receipt(), receipt()
	for _, r := range []*event.Receipt{&direct, &batched, &stepwise} {
		r.Fingerprint = "sha256:" + r.ID
	}
	persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, direct, body, parsed(snapshot("1", `{}`)), runOf(direct))
	require.NoError(t, err)
	require.True(t, persisted.Processed)
	d.bulk(batched)
	d.batch(event.Run{WorkflowID: "batch/1", RunID: "1"}, nil)
	d.process(stepwise, parsed())
	for _, r := range []event.Receipt{direct, batched, stepwise} {
		require.Equal(t, r.Fingerprint, value[string](d, `SELECT fingerprint FROM idempotency_keys WHERE event_id = $1::uuid`, r.ID))
	}
}
