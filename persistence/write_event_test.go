package persistence_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/persistence"
	"holdfast/persistence/entities"
	"holdfast/persistence/writer"
)

func (d *database) mustProcess(r event.Receipt, p event.Parsed) event.Persisted {
	d.t.Helper()
	persisted, err := d.Writer.Write(d.t.Context(), event.WholeEvent, r, body, p, runOf(r))
	require.NoError(d.t, err)
	persisted.Entities = nil // TestProcessNamesEntities
	return persisted
}

// The result of an event contains what its transaction has done to each entity, and names three of them at most.
func TestProcessNamesEntities(t *testing.T) {
	t.Parallel()
	db := open(t)
	said := func(changes ...event.Change) []string {
		r := receipt()
		persisted, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed(changes...), runOf(r))
		require.NoError(t, err)
		require.True(t, persisted.Processed)
		return persisted.Entities
	}
	require.Equal(t, []string{"no entities"}, said())
	require.Equal(t, []string{"created thing 1", "created thing 2"},
		said(snapshot("1", `{"n":1}`), snapshot("2", `{"n":1}`), patch("1", `{"n":2}`)))
	require.Equal(t, []string{"deleted thing 1", "unchanged thing 2"},
		said(event.Change{Kind: "thing", ExternalID: "1", Op: event.OpDelete}, patch("2", `{}`)))
	require.Equal(t, []string{"created thing 3", "created thing 4", "created thing 5", "and 2 more"},
		said(patch("3", `{}`), patch("4", `{}`), patch("5", `{}`), patch("6", `{}`), patch("7", `{}`)))

	r := receipt()
	persisted, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(snapshot("8", `{}`)), runOf(r))
	require.NoError(t, err)
	require.Equal(t, event.Persisted{}, persisted, "the upsert step has yet to come")
}

// New, duplicate and dead events, and those whose key another event owns, go through the same call.
func TestProcessKnowsHowAnEventStands(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, p := receipt(), parsed(snapshot("1", `{"n":1}`))
	require.Equal(t, event.Persisted{Processed: true}, db.mustProcess(r, p))
	record, err := db.Read.Event(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, event.OutcomeProcessed, record.Outcome)
	require.NotNil(t, record.ProcessedAt)
	require.Equal(t, body, record.Body)
	require.Equal(t, event.Persisted{Processed: true}, db.mustProcess(r, p), "again, it changes nothing")
	again, err := db.Read.Event(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, record, again)

	duplicate := receipt()
	duplicate.Key = r.Key
	require.Equal(t, event.Persisted{Duplicate: true, Owner: r.ID}, db.mustProcess(duplicate, p))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM events`))

	stored := receipt()
	_, err = db.Writer.Write(t.Context(), event.RowOnly, stored, body, p, runOf(stored))
	require.NoError(t, err)
	require.Equal(t, event.StatusPersisted, db.status(stored.ID))
	require.Equal(t, event.Persisted{Processed: true}, db.mustProcess(stored, p))
	require.Equal(t, event.StatusProcessed, db.status(stored.ID))

	dead := receipt()
	require.NoError(t, db.DeadLetters.RecordDeadLetter(t.Context(), deadLetter(dead)))
	require.Equal(t, event.Persisted{Processed: true}, db.mustProcess(dead, p))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'resolved'`))
}

// A different parse undoes the changes of the previous one.
func TestProcessUndoesAnEarlierParse(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.mustProcess(receipt(), parsed(patch("1", `{"m":1}`)))
	db.mustProcess(r, parsed(snapshot("1", `{"n":1}`), snapshot("2", `{"n":1}`)))
	db.mustProcess(r, parsed(snapshot("3", `{"n":3}`)))
	db.requireStates(map[string]string{"1": `{"m":1}`, "3": `{"n":3}`})
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM entities`), "no event touches 2 any more")

	ignored := parsed()
	ignored.Outcome = event.OutcomeIgnored
	require.Equal(t, event.Persisted{}, db.mustProcess(r, ignored))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM entities`))
}

func TestProcessFoldsOutOfOrderEvents(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.mustProcess(receipt(), parsed(snapshot("1", `{"n":2}`), patch("2", `{"m":2}`)))
	p := parsed(snapshot("1", `{"n":1}`), snapshot("2", `{"n":1}`), patch("3", `{"n":1}`))
	p.OccurredAt = noon.Add(-time.Hour)
	db.mustProcess(receipt(), p)
	db.requireStates(map[string]string{"1": `{"n":2}`, "2": `{"n":1,"m":2}`, "3": `{"n":1}`})
	require.Equal(t, 5, value[int](db, `SELECT count(*) FROM event_entities`))
}

func (d *database) requireStates(want map[string]string) {
	for id, state := range want {
		e, err := d.Read.Entity(d.t.Context(), thing(id))
		require.NoError(d.t, err)
		require.JSONEq(d.t, state, string(e.State))
	}
}

// A locked entity delays the event for half a second only: then the caller stores it without entities.
func TestProcessWaitsShortly(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *persistence.Config) { c.LockTimeout = time.Hour })
	p := parsed(snapshot("1", `{"n":1}`))
	db.process(receipt(), p)
	tx, err := db.sql.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `SELECT FROM entities FOR UPDATE`)
	require.NoError(t, err)

	r := receipt()
	_, err = db.Writer.Write(t.Context(), event.WholeEvent, r, body, p, runOf(r))
	require.Equal(t, event.ClassTransient, event.ClassOf(err))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM events`))
	_, err = db.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r))
	require.NoError(t, err)
}

// A locked entity delays only the events that need it.
func TestAGroupedWriteWaitsBriefly(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *persistence.Config) { c.LockTimeout = time.Hour })
	db.process(receipt(), parsed(snapshot("held", `{"n":1}`)))
	tx, err := db.sql.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `SELECT FROM entities FOR UPDATE`)
	require.NoError(t, err)

	var group errgroup.Group
	for i := range 40 {
		group.Go(func() error {
			id := fmt.Sprint("free", i)
			if i == 20 {
				id = "held"
			}
			r := receipt()
			_, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed(snapshot(id, `{"n":2}`)), runOf(r))
			if i == 20 {
				require.Equal(t, event.ClassTransient, event.ClassOf(err))
				return nil
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.Equal(t, 40, value[int](db, `SELECT count(*) FROM events`))
}

// An event that PostgreSQL refuses costs the others nothing.
func TestOneThatIsRefusedLeavesItsCompany(t *testing.T) {
	t.Parallel()
	db := open(t)
	var group errgroup.Group
	for i := range 40 {
		group.Go(func() error {
			p := parsed(snapshot(fmt.Sprint(i), `{"n":2}`))
			if i == 20 {
				p.OccurredAt = time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC) // beyond timestamptz
			}
			r := receipt()
			_, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, p, runOf(r))
			if i == 20 {
				require.Error(t, err)
				return nil
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.Equal(t, 39, value[int](db, `SELECT count(*) FROM events`))
}

func TestTheSameEventFiftyTimesAtOnceIsProcessedOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, p := receipt(), parsed(snapshot("1", `{"n":1}`), snapshot("2", `{"n":2}`))
	var group errgroup.Group
	for range 50 {
		group.Go(func() error {
			persisted, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, p, runOf(r))
			persisted.Entities = nil
			require.Equal(t, event.Persisted{Processed: true}, persisted)
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM event_entities`))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM events`))
}

// Many concurrent events of the same few entities, in no order: each entity ends as the fold of all.
func TestProcessFoldsUnderConcurrency(t *testing.T) {
	t.Parallel()
	db := open(t)
	random := rand.New(rand.NewPCG(1, 2))
	all := map[event.EntityRef][]event.OrderedChange{}
	var group errgroup.Group
	group.SetLimit(16)
	for n := range 400 {
		r, id, state := receipt(), fmt.Sprint(random.IntN(4)), fmt.Sprintf(`{"n":%d,"k%d":1}`, n, random.IntN(5))
		change := snapshot(id, state)
		if random.IntN(3) == 0 {
			change = patch(id, state)
		}
		p := parsed(change)
		p.OccurredAt = noon.Add(time.Duration(random.IntN(100)) * time.Second)
		ref := thing(id)
		all[ref] = append(all[ref], event.OrderedChange{Order: event.OrderOf(r, p, change), Change: change})
		group.Go(func() error {
			if _, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, p, runOf(r)); err == nil {
				return nil
			}
			if _, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r)); err != nil {
				return err
			}
			return db.UpsertEntities(t.Context(), r, p, runOf(r))
		})
	}
	require.NoError(t, group.Wait())
	for ref, changes := range all {
		want, err := fold.Of(ref, changes)
		require.NoError(t, err)
		got, err := db.Read.Entity(t.Context(), ref)
		require.NoError(t, err)
		require.JSONEq(t, string(want.State), string(got.State))
		require.Zero(t, want.Last.Compare(got.Last))
	}
}

// An event that needs several transactions gets its row in the first step, and its entities in the next one.
func TestAnEventThatCannotBeWrittenAtOnceGetsItsRow(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.writeAs(entities.Config{}, writer.Config{PageSize: 1})
	r, p := receipt(), parsed(snapshot("1", `{"n":1}`), snapshot("2", `{"n":2}`))
	persisted, err := db.Writer.Write(t.Context(), event.WholeOrRow, r, body, p, runOf(r))
	require.NoError(t, err)
	require.Equal(t, event.Persisted{}, persisted)
	require.Equal(t, event.StatusPersisted, db.status(r.ID))
	require.NoError(t, db.UpsertEntities(t.Context(), r, p, runOf(r)))
	require.Equal(t, event.StatusProcessed, db.status(r.ID))
}
