package persistence_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence"
	"holdfast/persistence/entities"
	"holdfast/persistence/writer"
)

// manyThings returns n changes of as many entities.
func manyThings(n int, state string) (changes []event.Change) {
	for i := range n {
		changes = append(changes, patch(fmt.Sprintf("many%05d", i), state))
	}
	return changes
}

// isComplete requires that an event with n changes is processed, and has all its entities.
func (d *database) isComplete(r event.Receipt, n int) {
	d.t.Helper()
	require.Equal(d.t, event.StatusProcessed, d.status(r.ID))
	require.Equal(d.t, n, value[int](d, `SELECT count(*) FROM event_entities WHERE event_id = $1`, r.ID))
	require.Equal(d.t, n, value[int](d, `SELECT count(*) FROM entities WHERE external_id LIKE 'many%' AND state <> '{}'`))
}

// An event with many entities is persisted, and its entities are written in pages of 500: the group and its transaction only have
// events with fewer.
func TestAnEventWithManyEntities(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, p := receipt(), parsed(manyThings(1234, `{"n":1}`)...)
	_, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, p, runOf(r))
	require.Equal(t, "many_entities", event.CodeOf(err))
	require.Zero(t, value[int](db, `SELECT count(*) FROM events`))
	db.process(r, p)
	db.isComplete(r, 1234)
	written := value[string](db, `SELECT sum(xmin::text::bigint)::text FROM entities`)
	db.process(r, p) // a reset
	db.isComplete(r, 1234)
	require.Equal(t, written, value[string](db, `SELECT sum(xmin::text::bigint)::text FROM entities`), "it writes nothing again")
}

// failAfter lets n statements that insert links pass, and then fails.
func (d *database) failAfter(pages int) {
	d.exec(`DROP TRIGGER IF EXISTS fail_after ON event_entities`)
	d.exec(`CREATE OR REPLACE FUNCTION fail_after() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF (SELECT count(*) FROM event_entities) > ` + fmt.Sprint(pages*500) + ` THEN
		RAISE EXCEPTION 'no more' USING ERRCODE = '57P01';
	END IF;
	RETURN NULL;
END $$`)
	d.exec(`CREATE TRIGGER fail_after AFTER INSERT ON event_entities FOR EACH STATEMENT EXECUTE FUNCTION fail_after()`)
}

// Wherever the work on an event ends, the next attempt goes on with the page that is missing. Until the last one the event isn't
// processed, and has neither deliveries nor an entry in the change feed.
func TestAFaultAtEachPage(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.subscribe("all", delivery.Events{})
	r, p := receipt(), parsed(manyThings(2100, `{"n":1}`)...)
	_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r))
	require.NoError(t, err)
	for page := range 5 {
		db.failAfter(page)
		require.Equal(t, event.ClassTransient, event.ClassOf(db.UpsertEntities(t.Context(), r, p, runOf(r))))
		require.Equal(t, page*500, value[int](db, `SELECT count(*) FROM event_entities`))
		require.Equal(t, page*500, value[int](db, `SELECT count(*) FROM entities`))
		require.Equal(t, event.StatusPersisted, db.status(r.ID))
		require.Zero(t, value[int](db, `SELECT count(*) FROM delivery_queue`))
		require.Equal(t, 1+page*500, value[int](db, `SELECT sum(n) FROM changes`), "the event is persisted, and some entities are new")
	}
	db.exec(`DROP TRIGGER fail_after ON event_entities`)
	require.NoError(t, db.UpsertEntities(t.Context(), r, p, runOf(r)))
	db.isComplete(r, 2100)
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM delivery_queue`))
	require.Equal(t, 1+2100+1, value[int](db, `SELECT sum(n) FROM changes`))
}

// Several workers at one event share its pages.
func TestWorkersShareThePages(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *persistence.Config) { c.LockTimeout = time.Minute })
	db.subscribe("all", delivery.Events{})
	r, p := receipt(), parsed(manyThings(2100, `{"n":1}`)...)
	_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r))
	require.NoError(t, err)
	var group errgroup.Group
	for range 4 {
		group.Go(func() error { return db.UpsertEntities(t.Context(), r, p, runOf(r)) })
	}
	require.NoError(t, group.Wait())
	db.isComplete(r, 2100)
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM delivery_queue`))
	require.Equal(t, 1+2100+1, value[int](db, `SELECT sum(n) FROM changes`))
}

// A corrected definition replaces what an unfinished event has done, in pages too: the entities of the earlier parse are gone.
func TestACorrectedParseReplacesThePages(t *testing.T) {
	t.Parallel()
	for name, corrected := range map[string]event.Parsed{
		"many others": parsed(append(manyThings(700, `{"n":2}`), patch("other", `{"n":1}`))...),
		"few":         parsed(manyThings(3, `{"n":2}`)...),
		"none":        {Type: "thing.changed", OccurredAt: noon, Outcome: event.OutcomeIgnored},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			r := receipt()
			wrong := parsed(manyThings(1800, `{"n":1}`)...)
			_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, wrong, runOf(r))
			require.NoError(t, err)
			db.failAfter(3)
			require.Error(t, db.UpsertEntities(t.Context(), r, wrong, runOf(r)))
			db.exec(`DROP TRIGGER fail_after ON event_entities`)
			_, err = db.Writer.Write(t.Context(), event.WholeEvent, r, body, corrected, runOf(r)) // in a group, if the event has few now
			require.Equal(t, "many_entities", event.CodeOf(err))
			_, err = db.Writer.Write(t.Context(), event.RowOnly, r, body, corrected, runOf(r))
			require.NoError(t, err)
			if corrected.Outcome != event.OutcomeIgnored {
				require.NoError(t, db.UpsertEntities(t.Context(), r, corrected, runOf(r)))
			}
			require.Equal(t, event.StatusProcessed, db.status(r.ID))
			require.Equal(t, len(corrected.Changes), value[int](db, `SELECT count(*) FROM entities`))
			require.Equal(t, len(corrected.Changes), value[int](db, `SELECT count(*) FROM event_entities`))
			require.Zero(t, value[int](db, `SELECT count(*) FROM entities WHERE external_id LIKE 'many%' AND state <> '{"n": 2}'`))
		})
	}
}

// An operator's decision ends an event between two pages, and undoes what it has done.
func TestADecisionBetweenPages(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, p := receipt(), parsed(manyThings(1800, `{"n":1}`)...)
	_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r))
	require.NoError(t, err)
	db.failAfter(2)
	require.Error(t, db.UpsertEntities(t.Context(), r, p, runOf(r)))
	db.exec(`DROP TRIGGER fail_after ON event_entities`)
	db.record(deadLetter(r))
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), db.deadLetterOf(r).ID, ada))
	require.Zero(t, value[int](db, `SELECT count(*) FROM entities`))
	var decision *event.DecisionError
	require.ErrorAs(t, db.UpsertEntities(t.Context(), r, p, runOf(r)), &decision)
	require.Zero(t, value[int](db, `SELECT count(*) FROM event_entities`))
}

// An event with many entities leaves its batch before it has done anything; the others stay.
func TestAnEventWithManyEntitiesLeavesItsBatch(t *testing.T) {
	t.Parallel()
	db := open(t)
	many, few := db.bulk(receipt()), db.bulk(receipt())
	done, err := db.Writer.ProcessBatch(t.Context(), 10, newBatchRun(), func(r event.Receipt, _ []byte) (event.Parsed, error) {
		if r.ID == many.ID {
			return parsed(manyThings(600, `{"n":1}`)...), nil
		}
		return parsed(patch("few", `{"n":1}`)), nil
	})
	require.NoError(t, err)
	require.Len(t, done, 2)
	require.Equal(t, event.StatusProcessed, db.status(few.ID))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM inbox WHERE event_id = $1 AND lane = 'overflow'`, many.ID))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM event_entities`))
}

// cutOff ends the context of an event's work after a number of batches of statements.
type cutOff struct {
	panicking

	left   atomic.Int64
	cancel atomic.Pointer[context.CancelFunc]
}

func (c *cutOff) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	if cancel := c.cancel.Load(); cancel != nil && c.left.Add(-1) == 0 {
		(*cancel)()
	}
	return ctx
}

// In whatever order large events arrive, wherever their work ends and whatever an earlier parse of them was: their entities are the
// fold of the final parses, as with events of one page. Here a page has two changes.
func TestPagesFoldAsWhole(t *testing.T) {
	t.Parallel()
	tracer := &cutOff{}
	db := open(t, func(c *persistence.Config) { c.Tracer = tracer })
	db.writeAs(entities.Config{LinksPerCheckpoint: 2}, writer.Config{PageSize: 2})
	rapid.Check(t, func(t *rapid.T) {
		large := rapid.Custom(func(t *rapid.T) arrival {
			a := arrivals().Draw(t, "first")
			for range rapid.IntRange(0, 2).Draw(t, "more") {
				a.parsed.Changes = append(a.parsed.Changes, arrivals().Draw(t, "next").parsed.Changes...)
			}
			return a
		})
		events := rapid.SliceOfN(large, 1, 5).Draw(t, "events")
		names := renameEntities(events)
		for _, a := range slices.Concat(reparsed(t, events), rapid.Permutation(slices.Concat(events, events)).Draw(t, "order")) {
			ctx, cancel := context.WithCancel(db.t.Context())
			tracer.left.Store(int64(rapid.IntRange(1, 12).Draw(t, "batches")))
			tracer.cancel.Store(&cancel)
			_, err := db.Writer.Write(ctx, event.RowOnly, a.receipt, body, a.parsed, runOf(a.receipt))
			if err == nil {
				_, _ = db.Writer.Write(ctx, event.EntitiesOnly, a.receipt, nil, a.parsed, runOf(a.receipt))
			}
			tracer.cancel.Store(nil)
			cancel()
		}
		deliver(t, db, events)
		requireFolded(t, db, events, names)
	})
}

// A rebuild writes an event with many entities as it is parsed today, and a rebuild without a change writes nothing.
func TestARebuildOfAnEventWithManyEntities(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.process(r, parsed(manyThings(1300, `{"n":1}`)...))
	d := definition{}
	d.reads(r, manyThings(1200, `{"n":2}`)...)
	require.EqualValues(t, 1300, db.rebuild("dry", operation.RebuildFilter{}, true, 10, d.parse).Entities)
	require.EqualValues(t, 1300, db.rebuild("first", operation.RebuildFilter{}, false, 10, d.parse).Entities)
	db.isComplete(r, 1200)
	require.Equal(t, 1200, value[int](db, `SELECT count(*) FROM entities WHERE state = '{"n": 2}'`))
	require.Zero(t, db.rebuild("second", operation.RebuildFilter{}, false, 10, d.parse).Entities)
}

// An expunge undoes what an event with as many entities as are allowed has done.
func TestAnExpungeOfAnEventWithManyEntities(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.process(r, parsed(manyThings(10_000, `{"n":1}`)...))
	db.isComplete(r, 10_000)
	started := time.Now()
	_, err := db.Upkeep.Expunge(t.Context(), r.ID, 0, ada)
	require.NoError(t, err)
	t.Logf("expunged in %s", time.Since(started))
	require.Zero(t, value[int](db, `SELECT count(*) FROM entities`))
	require.Zero(t, value[int](db, `SELECT count(*) FROM event_entities`))
}

// An import writes an event with many entities at once.
func TestAnImportOfAnEventWithManyEntities(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	item := m.event("old", noon, body)
	m.finishWith(m.stage(item), func(event.Receipt, []byte) (event.Parsed, error) {
		return parsed(manyThings(1300, `{"n":1}`)...), nil
	})
	m.isComplete(item.Receipt, 1300)
}
