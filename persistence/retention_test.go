package persistence_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/event/oversight"
	"holdfast/event/retention"
)

// receiptAt returns an event received at a time.
func receiptAt(at time.Time) event.Receipt {
	r := receipt()
	r.ReceivedAt = at
	r.ID = event.FirstIDAt(at)[:14] + uuid.Must(uuid.NewV7()).String()[14:]
	return r
}

// ended makes every event appear processed when it was received.
func (d *database) ended() {
	d.t.Helper()
	d.exec(`UPDATE events SET processed_at = received_at, rerun_at = NULL
 WHERE id IN (SELECT id FROM events WHERE processed_at IS NOT NULL FOR UPDATE SKIP LOCKED)`)
}

// purge removes all that is old enough, as if every event had been processed when it was received.
func (d *database) purge(kind retention.Kind, before time.Time) (total int64) {
	d.t.Helper()
	d.ended()
	for {
		n, err := d.Upkeep.PurgeBatch(d.t.Context(), kind, before)
		require.NoError(d.t, err)
		total += n
		if n == 0 {
			return total
		}
	}
}

type stored struct {
	receipt event.Receipt
	parsed  event.Parsed
}

// randomEvents are events of a few entities, received one a day, that have occurred in any order.
func randomEvents(random *rand.Rand, n int) []stored {
	all := make([]stored, n)
	for i := range all {
		p := parsed()
		p.OccurredAt = noon.Add(time.Duration(random.IntN(40)) * time.Hour)
		for range 1 + random.IntN(2) {
			c := event.Change{
				Kind: "thing", ExternalID: fmt.Sprint(random.IntN(3)),
				Op:    []event.Op{event.OpSnapshot, event.OpPatch, event.OpPatch, event.OpDelete}[random.IntN(4)],
				State: fmt.Appendf(nil, `{"f%d":%d}`, random.IntN(4), i),
			}
			if random.IntN(3) == 0 {
				c.Version = pointer(int64(random.IntN(5)))
			}
			p.Changes = append(p.Changes, c)
		}
		all[i] = stored{receiptAt(noon.Add(time.Duration(i) * 24 * time.Hour)), p}
	}
	return all
}

// foldOf folds an entity with the model.
func foldOf(t *testing.T, ref event.EntityRef, all []stored) event.Entity {
	t.Helper()
	var changes []event.OrderedChange
	for _, s := range all {
		for _, c := range s.parsed.Changes {
			if c.ExternalID == ref.ExternalID {
				changes = append(changes, event.OrderedChange{Order: event.OrderOf(s.receipt, s.parsed, c), Change: c})
			}
		}
	}
	e, err := fold.Of(ref, changes)
	require.NoError(t, err)
	return e
}

func (d *database) requireEntities(all []stored, when string) {
	d.t.Helper()
	for id := range 3 {
		ref := thing(fmt.Sprint(id))
		want := foldOf(d.t.(*testing.T), ref, all)
		if want.Last.EventID == "" {
			_, err := d.Read.Entity(d.t.Context(), ref)
			require.ErrorIs(d.t, err, event.ErrNotFound, when)
			continue
		}
		got, err := d.Read.Entity(d.t.Context(), ref)
		require.NoError(d.t, err, when)
		require.JSONEq(d.t, string(want.State), string(got.State), "%s: %+v", when, ref)
		require.Equal(d.t, want.Deleted, got.Deleted, when)
		require.Equal(d.t, want.Last.EventID, got.Last.EventID, when)
	}
}

// Whatever is purged, and whatever is received afterwards, out of order, or corrected: each entity is the fold of all events, as
// if nothing had been purged.
func TestAPurgeChangesNoEntity(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		db := open(t)
		random := rand.New(rand.NewPCG(seed, 1))
		all := randomEvents(random, 24)
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		half := all[:16]
		for _, s := range half {
			db.process(s.receipt, s.parsed)
		}
		cut := noon.Add(time.Duration(random.IntN(30)) * 24 * time.Hour)
		links := value[int](db, `SELECT count(*) FROM event_entities`)
		gone := db.purge(retention.Events, cut)
		require.Equal(t, len(half)-int(gone), value[int](db, `SELECT count(*) FROM events`))
		require.LessOrEqual(t, value[int](db, `SELECT count(*) FROM event_entities`), links)
		db.requireEntities(half, fmt.Sprintf("seed %d: after the purge", seed))

		for _, s := range all[16:] {
			db.process(s.receipt, s.parsed)
		}
		db.requireEntities(all, fmt.Sprintf("seed %d: after late events", seed))
		db.purge(retention.Events, cut)
		for i, s := range all {
			if !s.receipt.ReceivedAt.Before(cut) { // a corrected definition finds no changes in it
				all[i].parsed.Changes = nil
				require.NoError(t, db.UpsertEntities(t.Context(), s.receipt, all[i].parsed, anotherRun(s.receipt)))
				break
			}
		}
		db.requireEntities(all, fmt.Sprintf("seed %d: after a correction", seed))
	}
}

// A purge keeps the last snapshot and what follows, and nothing that no fold would read.
func TestAPurgeRemovesUnreadChanges(t *testing.T) {
	t.Parallel()
	db := open(t)
	for day, c := range []event.Change{
		snapshot("1", `{"n":1}`), patch("1", `{"n":2}`), snapshot("1", `{"n":3}`), patch("1", `{"m":4}`), snapshot("1", `{"n":5}`),
	} {
		p := parsed(c)
		p.OccurredAt = noon.Add(time.Duration(day) * 24 * time.Hour)
		db.process(receiptAt(p.OccurredAt), p)
	}
	require.EqualValues(t, 4, db.purge(retention.Events, noon.Add(80*time.Hour)))
	require.Equal(t, 3, value[int](db, `SELECT count(*) FROM event_entities`), "the last purged snapshot and what follows")
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM events`))
	require.Equal(t, 5, value[int](db, `SELECT count(*) FROM idempotency_keys`), "keys outlive their events")
}

// An event that needs an operator is never too old; nor are its key and dead letter.
func TestAPurgeKeepsUnfinishedEvents(t *testing.T) {
	t.Parallel()
	db := open(t)
	old := noon.Add(-1000 * time.Hour)
	stuck, dead, given := receiptAt(old), receiptAt(old), receiptAt(old)
	for _, r := range []event.Receipt{stuck, dead, given} {
		_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
		require.NoError(t, err)
	}
	for _, r := range []event.Receipt{dead, given} {
		require.NoError(t, db.DeadLetters.RecordDeadLetter(t.Context(), deadLetterOf(r)))
	}
	id := value[int64](db, `SELECT id FROM dead_letters WHERE event_id = $1`, given.ID)
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada))

	require.EqualValues(t, 1, db.purge(retention.Events, noon))
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM events WHERE id IN ($1, $2)`, stuck.ID, dead.ID))
	require.EqualValues(t, 1, db.purge(retention.DeadLetters, time.Now().Add(time.Hour)))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'open'`))
	require.Zero(t, db.purge(retention.Keys, time.Now()), "these keys are for ever")
}

// An event isn't purged while it is still being delivered: not before the last of its deliveries has been queued, if very many
// subscriptions match, and not before these have ended. Afterwards it is. An archive reads exactly the events that the purge
// removes.
func TestAPurgeKeepsEventsWithOpenDeliveries(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.many(2500, `.body.id == "evt_1"`)
	old := receiptAt(noon.Add(-1000 * time.Hour))
	db.mustProcess(old, parsed())
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM delivery_fanouts`))
	require.Empty(t, db.queued(old))
	requireKept := func(while string) {
		db.ended()
		outdated, err := db.Upkeep.Outdated(t.Context(), retention.Events, noon)
		require.NoError(t, err)
		require.Empty(t, outdated, while)
		require.Zero(t, db.purge(retention.Events, noon), while)
	}
	requireKept("its deliveries are to be queued")
	for more := true; more; {
		var err error
		more, err = db.Subscriptions.FanOut(t.Context())
		require.NoError(t, err)
	}
	require.Zero(t, value[int](db, `SELECT count(*) FROM delivery_fanouts`))
	require.NotEmpty(t, db.queued(old))
	requireKept("its deliveries are queued")
	db.exec(`DELETE FROM delivery_queue`)
	require.EqualValues(t, 1, db.purge(retention.Events, noon))
}

func deadLetterOf(r event.Receipt) event.DeadLetter {
	return event.DeadLetter{
		Receipt: r, Body: body, Run: runOf(r),
		Failure: event.Failure{Step: event.StepUpsert, Class: event.ClassRejected, Code: "bad", Message: "bad", At: time.Now()},
	}
}

// Keys are removed after their window, logs by age; nothing else removes rows of the audit log.
func TestLogsAndKeysArePurgedByAge(t *testing.T) {
	t.Parallel()
	db := open(t)
	brief := receipt()
	brief.DedupeWindow = event.Duration(time.Hour)
	_, err := db.Writer.Write(t.Context(), event.RowOnly, brief, body, parsed(), runOf(brief))
	require.NoError(t, err)
	require.Zero(t, db.purge(retention.Keys, noon.Add(59*time.Minute)))
	require.EqualValues(t, 1, db.purge(retention.Keys, noon.Add(61*time.Minute)))

	for age := range 21 {
		require.NoError(t, db.Errors.LogErrors(t.Context(), []oversight.ErrorEntry{{At: noon.Add(-time.Duration(age) * time.Hour), Code: "x"}}))
	}
	require.EqualValues(t, 10, db.purge(retention.Errors, noon.Add(-10*time.Hour)))
	require.Equal(t, 11, value[int](db, `SELECT count(*) FROM error_log`))

	db.exec(`INSERT INTO audit_log (at, actor, role, action, object, request_id, reason)
	         SELECT $1::timestamptz - i * interval '1 day', 'ada', '', 'x', 'y', '', '' FROM generate_series(1, 1200) AS i`, noon)
	require.EqualValues(t, 1100, db.purge(retention.Audit, noon.Add(-100*24*time.Hour)))
	_, err = db.sql.Exec(t.Context(), `DELETE FROM audit_log`)
	require.ErrorContains(t, err, "append-only")
}

// A purge by an operator is on record with the transaction that removes the rows, batch by batch; if nothing is removed, there is
// no entry.
func TestAPurgeByAnOperatorIsOnRecord(t *testing.T) {
	t.Parallel()
	db := open(t)
	for range 3 {
		db.process(receiptAt(noon.Add(-time.Hour)), parsed())
	}
	db.ended()
	for want, kind := range []retention.Kind{retention.Errors, retention.Events} {
		_, err := db.Upkeep.PurgeBatchBy(t.Context(), kind, noon, ada)
		require.NoError(t, err)
		require.Len(t, db.audit(), want)
	}
	require.EqualValues(t, "purge", db.audit()[0].Action)
	require.JSONEq(t, `{"kept":"events","before":"2025-11-21T12:00:00Z","removed":3}`, string(db.audit()[0].Detail))
}

// A purge doesn't wait for locks: locked rows are left for the next time.
func TestAPurgeDoesNotWait(t *testing.T) {
	t.Parallel()
	db := open(t)
	old := noon.Add(-time.Hour)
	held, free := receiptAt(old), receiptAt(old)
	db.process(held, parsed(snapshot("1", `{}`)))
	db.process(free, parsed(snapshot("2", `{}`)))
	tx, err := connect(t, db.url).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `UPDATE events SET type = type WHERE id = $1`, held.ID)
	require.NoError(t, err)
	require.EqualValues(t, 1, db.purge(retention.Events, noon))
	require.NoError(t, tx.Rollback(t.Context()))
	require.EqualValues(t, 1, db.purge(retention.Events, noon))
}

// An event is expunged: its content is nowhere, its entity is as if the event had never existed, its redelivery is a duplicate.
func TestAnExpungedEventLeavesItsKey(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.CheckpointEvery(1)
	first, secret, other := receiptAt(noon), receiptAt(noon.Add(time.Minute)), receiptAt(noon)
	db.process(first, parsed(snapshot("1", `{"name":"Ada"}`)))
	p := parsed(patch("1", `{"iban":"hush-hush"}`), snapshot("9", `{"iban":"hush-hush"}`))
	p.OccurredAt = noon.Add(time.Minute)
	_, err := db.Writer.Write(t.Context(), event.RowOnly, secret, []byte(`{"iban":"hush-hush"}`), p, runOf(secret))
	require.NoError(t, err)
	require.NoError(t, db.UpsertEntities(t.Context(), secret, p, runOf(secret)))
	db.process(other, parsed(snapshot("2", `{}`)))
	require.NoError(t, db.Errors.LogErrors(t.Context(), []oversight.ErrorEntry{{At: noon, Code: "x", EventID: secret.ID}}))

	workflows, err := db.Upkeep.WorkflowsOf(t.Context(), secret.ID)
	require.NoError(t, err)
	require.Equal(t, []string{secret.WorkflowID()}, workflows)
	gone, err := db.Upkeep.Expunge(t.Context(), secret.ID, 0, ada)
	require.NoError(t, err)
	require.Equal(t, retention.Expunged{EventID: secret.ID, Provider: "acme", WorkflowIDs: workflows, Events: 1, Changes: 2,
		Errors: 1, Entities: 2}, gone)

	for _, table := range []string{
		"events", "dead_letters", "entities", "entity_checkpoints", "event_entities", "error_log", "audit_log",
	} {
		text := value[string](db, fmt.Sprintf(`SELECT coalesce(string_agg(t::text, ' '), '') FROM %s AS t`, table))
		require.False(t, strings.Contains(text, "hush") || strings.Contains(text, `\x7b226962616e`), table)
	}
	entity, err := db.Read.Entity(t.Context(), thing("1"))
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"Ada"}`, string(entity.State))
	_, err = db.Read.Entity(t.Context(), thing("9"))
	require.ErrorIs(t, err, event.ErrNotFound)

	again := secret
	again.ID = receipt().ID
	persisted, err := db.Writer.Write(t.Context(), event.RowOnly, again, body, p, runOf(again))
	require.NoError(t, err)
	require.Equal(t, event.Persisted{Duplicate: true, Owner: secret.ID}, persisted)
	audit := value[string](db, `SELECT actor || ' ' || action || ' ' || object FROM audit_log`)
	require.Equal(t, "ada event.expunge event:"+secret.ID, audit)
}

// An event that failed before it had a row, or whose row was purged, is expunged all the same.
func TestRemainsOfAnEventAreExpunged(t *testing.T) {
	t.Parallel()
	db := open(t)
	dead := receipt()
	require.NoError(t, db.DeadLetters.RecordDeadLetter(t.Context(), deadLetterOf(dead)))
	gone, err := db.Upkeep.Expunge(t.Context(), dead.ID, 0, ada)
	require.NoError(t, err)
	require.EqualValues(t, 1, gone.DeadLetters)
	require.Equal(t, dead.ID, value[string](db, `SELECT event_id::text FROM idempotency_keys WHERE key = $1`, dead.Key))

	old := receiptAt(noon.Add(-time.Hour))
	db.process(old, parsed(snapshot("1", `{"n":1}`)))
	require.EqualValues(t, 1, db.purge(retention.Events, noon))
	id, err := db.Upkeep.EventOfWorkflow(t.Context(), old.WorkflowID())
	require.NoError(t, err)
	require.Equal(t, old.ID, id)
	row := receiptAt(noon.Add(time.Hour))
	db.process(row, parsed())
	ids, err := db.Upkeep.EventsOfWorkflows(t.Context(), []string{old.WorkflowID(), dead.WorkflowID(), "thing:never", row.WorkflowID()})
	require.NoError(t, err)
	require.Equal(t, map[string]string{old.WorkflowID(): old.ID, dead.WorkflowID(): dead.ID, row.WorkflowID(): row.ID}, ids)
	workflows, err := db.Upkeep.WorkflowsOf(t.Context(), old.ID)
	require.NoError(t, err)
	require.Equal(t, []string{old.WorkflowID()}, workflows)
	gone, err = db.Upkeep.Expunge(t.Context(), old.ID, 0, ada)
	require.NoError(t, err)
	require.EqualValues(t, 1, gone.Changes)
	_, err = db.Read.Entity(t.Context(), thing("1"))
	require.ErrorIs(t, err, event.ErrNotFound)
}

// A purge removes what an event has done to an entity before its own snapshot, so the entity doesn't count it.
func TestAPurgeKeepsTheCountOfChanges(t *testing.T) {
	t.Parallel()
	db := open(t)
	patch := func(state string) event.Change {
		return event.Change{Kind: "thing", ExternalID: "1", Op: event.OpPatch, State: json.RawMessage(state)}
	}
	db.process(receiptAt(noon), parsed(patch(`{"a":1}`), snapshot("1", `{"n":1}`), patch(`{"b":1}`)))
	require.Equal(t, 2, value[int](db, `SELECT links FROM entities`))
	db.purge(retention.Events, noon.Add(time.Hour))
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM event_entities`))
}

// A locked event is not purged: neither its row, nor the state that it falls back to.
func TestAPurgeKeepsEventsInProgress(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receiptAt(noon)
	db.process(r, parsed(snapshot("1", `{"n":1}`)))
	worker := connect(t, db.url)
	_, err := worker.Exec(t.Context(), `BEGIN`)
	require.NoError(t, err)
	_, err = worker.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, r.ID)
	require.NoError(t, err)
	require.Zero(t, db.purge(retention.Events, noon.Add(time.Hour)))
	_, err = worker.Exec(t.Context(), `COMMIT`)
	require.NoError(t, err)
	require.EqualValues(t, 1, db.purge(retention.Events, noon.Add(time.Hour)))
}

// Temporal can reset a run until its own retention has ended, and so bring a purged event back. An event is removed only once its
// last run is old enough:
//   - not if it was received long ago, and processed just now
//   - not if a run finished it again since, as after a reset
func TestAnEventStaysWhileItsLastRunCanBeReset(t *testing.T) {
	t.Parallel()
	db := open(t)
	old, slow, reset := receiptAt(noon.Add(-96*time.Hour)), receiptAt(noon.Add(-96*time.Hour)), receiptAt(noon.Add(-96*time.Hour))
	for _, r := range []event.Receipt{old, slow, reset} {
		db.process(r, parsed())
	}
	db.ended()
	db.exec(`UPDATE events SET processed_at = now() WHERE id = $1`, slow.ID)
	_, err := db.Writer.Write(t.Context(), event.WholeEvent, reset, body, parsed(), anotherRun(reset))
	require.NoError(t, err)

	for _, want := range []int64{1, 0} {
		removed, err := db.Upkeep.PurgeBatch(t.Context(), retention.Events, noon)
		require.NoError(t, err)
		require.Equal(t, want, removed)
	}
	require.Zero(t, value[int](db, `SELECT count(*) FROM events WHERE id = $1`, old.ID))
	outdated, err := db.Upkeep.Outdated(t.Context(), retention.Events, noon)
	require.NoError(t, err)
	require.Empty(t, outdated, "nor do they go to an archive")
}
