package persistence_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/persistence"
)

// arrival is an event with one parse of it.
type arrival struct {
	receipt event.Receipt
	parsed  event.Parsed
}

// In whatever order events arrive, however often, and however wrong an earlier parse of them was: entities are the pure fold of
// the final parses.
func TestEntitiesAreTheFoldOfTheirEvents(t *testing.T) {
	t.Parallel()
	db := open(t)
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(arrivals(), 1, 6).Draw(t, "events")
		names := renameEntities(events)
		deliver(t, db, slices.Concat(
			reparsed(t, events), // first some events with a wrong parse,
			rapid.Permutation(slices.Concat(events, events)).Draw(t, "order"), // then each event twice
		))
		requireFolded(t, db, events, names)
	})
}

func TestEventsThatAreProcessedAtOnceFoldTheSame(t *testing.T) {
	t.Parallel()
	db := open(t)
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(arrivals(), 2, 6).Draw(t, "events")
		names := renameEntities(events)
		var group errgroup.Group
		for _, a := range slices.Concat(events, events) {
			group.Go(func() error { return process(db, a) })
		}
		require.NoError(t, group.Wait())
		requireFolded(t, db, events, names)
	})
}

func process(db *database, a arrival) error {
	if _, err := db.Writer.Write(db.t.Context(), event.RowOnly, a.receipt, body, a.parsed, runOf(a.receipt)); err != nil {
		return err
	}
	return db.UpsertEntities(db.t.Context(), a.receipt, a.parsed, runOf(a.receipt))
}

func deliver(t *rapid.T, db *database, events []arrival) {
	for _, a := range events {
		require.NoError(t, process(db, a))
	}
}

var names = []string{"x", "y", "z"}

func arrivals() *rapid.Generator[arrival] {
	states := rapid.SampledFrom([]string{
		`{"a":1}`, `{"a":null,"b":2}`, `{"b":{"c":3}}`, `{"b":{"c":null}}`, `{"n":12345678901234567890.10}`,
		`{"n":1E2}`, ``,
	})
	ops := rapid.SampledFrom([]event.Op{event.OpSnapshot, event.OpPatch, event.OpPatch, event.OpPatch, event.OpDelete})
	changes := rapid.Custom(func(t *rapid.T) event.Change {
		c := event.Change{Kind: "thing", ExternalID: rapid.SampledFrom(names).Draw(t, "id"), Op: ops.Draw(t, "op")}
		if state := states.Draw(t, "state"); state != "" {
			c.State = json.RawMessage(state)
		}
		if v := rapid.Int64Range(-1, 2).Draw(t, "version"); v >= 0 {
			c.Version = &v
		}
		return c
	})
	return rapid.Custom(func(t *rapid.T) arrival {
		p := parsed(rapid.SliceOfN(changes, 0, 3).Draw(t, "changes")...)
		p.OccurredAt = noon.Add(time.Duration(rapid.IntRange(0, 4).Draw(t, "occurred")) * 700 * time.Nanosecond)
		return arrival{receipt(), p}
	})
}

var iteration atomic.Int64

// renameEntities gives each run of a property its own entities.
func renameEntities(events []arrival) (renamed []string) {
	suffix := strconv.FormatInt(iteration.Add(1), 10)
	for _, a := range events {
		for i := range a.parsed.Changes {
			a.parsed.Changes[i].ExternalID += suffix
		}
	}
	for _, name := range names {
		renamed = append(renamed, name+suffix)
	}
	return renamed
}

// reparsed returns some of the events, each with the changes of another one.
func reparsed(t *rapid.T, events []arrival) (wrong []arrival) {
	for _, a := range events {
		if rapid.Bool().Draw(t, "reparsed") {
			a.parsed.Changes = rapid.SampledFrom(events).Draw(t, "wrong").parsed.Changes
			wrong = append(wrong, a)
		}
	}
	return wrong
}

func requireFolded(t *rapid.T, db *database, events []arrival, names []string) {
	for _, name := range names {
		var changes []event.OrderedChange
		for _, a := range events {
			for _, c := range a.parsed.Changes {
				if c.ExternalID == name {
					order := event.OrderOf(a.receipt, a.parsed, c)
					changes = append(changes, event.OrderedChange{Order: order, Change: c})
				}
			}
		}
		got, err := db.Read.Entity(db.t.Context(), thing(name))
		if len(changes) == 0 {
			require.ErrorIs(t, err, event.ErrNotFound)
			continue
		}
		require.NoError(t, err)
		want, err := fold.Of(thing(name), changes)
		require.NoError(t, err)
		require.Equal(t, want.Deleted, got.Deleted)
		require.Equal(t, want.Last, got.Last)
		require.True(t, value[bool](db, `SELECT $1::jsonb = $2::jsonb`, string(want.State), string(got.State)),
			"want %s, got %s", want.State, got.State)
		timeline, err := db.Read.Timeline(db.t.Context(), thing(name))
		require.NoError(t, err)
		require.Len(t, timeline, len(changes))
	}
}

func TestATimelineIsInFoldOrder(t *testing.T) {
	t.Parallel()
	db := open(t)
	var want []string
	for i := range 4 {
		r, p := receipt(), parsed(patch("1", fmt.Sprintf(`{"n":%d}`, i)))
		p.OccurredAt = noon.Add(-time.Duration(i) * time.Hour) // each earlier than the one before
		if i == 1 {
			p.Changes[0].Version = pointer(int64(7)) // but a version comes after unversioned changes
			want = append(want, r.ID)
		} else {
			want = slices.Insert(want, 0, r.ID)
		}
		db.process(r, p)
	}
	timeline, err := db.Read.Timeline(t.Context(), thing("1"))
	require.NoError(t, err)
	var got []string
	for _, l := range timeline {
		require.Equal(t, thing("1"), l.EntityRef)
		got = append(got, l.EventID)
	}
	require.Equal(t, want, got)
}

func TestAnEntityThatNoEventTouchesAnyMoreIsGone(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, other := receipt(), receipt()
	db.process(other, parsed(snapshot("kept", `{"n":1}`)))
	db.process(r, parsed(patch("kept", `{"n":2}`), snapshot("wrong", `{}`)))

	corrected := parsed(snapshot("right", `{}`))
	corrected.Type = "thing.corrected"
	require.NoError(t, db.UpsertEntities(t.Context(), r, corrected, anotherRun(r)))

	kept, err := db.Read.Entity(t.Context(), thing("kept"))
	require.NoError(t, err)
	require.JSONEq(t, `{"n":1}`, string(kept.State))
	require.Equal(t, other.ID, kept.Last.EventID)
	_, err = db.Read.Entity(t.Context(), thing("wrong"))
	require.ErrorIs(t, err, event.ErrNotFound)
	_, err = db.Read.Entity(t.Context(), thing("right"))
	require.NoError(t, err)
	record, err := db.Read.Event(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, "thing.corrected", record.Type)
}

func TestRepeatingAnUpsertChangesNothing(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, p := receipt(), parsed(patch("1", `{"n":1}`), snapshot("2", `{"n":[1.0]}`))
	db.process(r, p)
	const everything = `
SELECT (SELECT jsonb_agg(to_jsonb(e) - 'run_id' - 'rerun_at') FROM events e)::text || (SELECT jsonb_agg(e) FROM entities e)::text ||
       (SELECT jsonb_agg(e ORDER BY external_id) FROM event_entities e)::text`
	before := value[string](db, everything)
	require.NoError(t, db.UpsertEntities(t.Context(), r, p, runOf(r)))      // a retry
	require.NoError(t, process(db, arrival{r, p}))                          // a reset
	require.NoError(t, db.UpsertEntities(t.Context(), r, p, anotherRun(r))) // a late attempt of another run
	require.Equal(t, before, value[string](db, everything))
}

func TestCrossedEntitiesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	db := open(t)
	var group errgroup.Group
	for i := range 60 {
		var changes []event.Change
		for n := range 30 { // first twelve concurrent events insert the rows, then they lock them
			changes = append(changes, patch(fmt.Sprintf("%d-%d", i/12, n), `{"n":1}`))
		}
		if i%2 == 1 {
			slices.Reverse(changes)
		}
		group.Go(func() error { return process(db, arrival{receipt(), parsed(changes...)}) })
	}
	require.NoError(t, group.Wait())
	require.Equal(t, 0, value[int](db,
		`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`))
	require.Equal(t, 60*30, value[int](db, `SELECT count(*) FROM event_entities`))
}

func TestNoChangeOfABusyEntityIsLost(t *testing.T) {
	t.Parallel()
	db := open(t)
	var group errgroup.Group
	for i := range 100 {
		p := parsed(patch("1", fmt.Sprintf(`{"k%d":%d}`, i, i)))
		p.OccurredAt = noon.Add(time.Duration(i) * time.Second)
		group.Go(func() error { return process(db, arrival{receipt(), p}) })
	}
	require.NoError(t, group.Wait())
	require.Equal(t, 100, value[int](db, `SELECT count(*) FROM entities, jsonb_object_keys(state)`))
}

func TestAnUpsertHappensAsAWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *persistence.Config) { c.MaxConns = 1 })
	r, p := receipt(), parsed(snapshot("1", `{"n":1}`))
	_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r))
	require.NoError(t, err)
	db.record(deadLetter(r))
	db.exec(`ALTER TABLE entities ADD CONSTRAINT refuse CHECK (state <> '{"n":1}')`) // the last statement fails

	err = db.UpsertEntities(t.Context(), r, p, anotherRun(r))
	requireFailure(t, err, event.ClassRejected, "check_violation")
	require.Equal(t, event.StatusDead, db.status(r.ID))
	require.Equal(t, event.DeadLetterOpen, db.deadLetterOf(r).State)
	require.Equal(t, 0, value[int](db, `SELECT count(*) FROM event_entities`))
	require.Equal(t, 0, value[int](db, `SELECT count(*) FROM entities`))

	db.exec(`ALTER TABLE entities DROP CONSTRAINT refuse`)
	require.NoError(t, db.UpsertEntities(t.Context(), r, p, anotherRun(r)), "the connection is as good as new")
}

func TestUnusableEntitiesAreTheEventsOwnFault(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
	require.NoError(t, err)
	for code, c := range map[string]event.Change{
		"malformed_entity_id":    snapshot("a\x00b", `{}`),
		"state_not_json":         snapshot("1", `{"secret":`),
		"state_not_object":       snapshot("1", `["secret"]`),
		"program_limit_exceeded": snapshot(incompressible(9000), `{}`),
	} {
		err := db.UpsertEntities(t.Context(), r, parsed(c), runOf(r))
		require.Equal(t, code, event.CodeOf(err))
		require.Equal(t, event.ClassRejected, event.ClassOf(err), code)
		require.NotContains(t, err.Error(), "secret")
	}
	require.Equal(t, event.StatusPersisted, db.status(r.ID))
}

// numberBomb is an object with a list of numbers, each of six bytes, that PostgreSQL writes out with 309 digits.
func numberBomb(field string, size int) string {
	return `{"` + field + `":[` + strings.Repeat("1e308,", size/6) + `0]}`
}

// A body of numbers that expand to many times its size:
//   - it is stored unchanged, without a projection, whose note says so
//   - as a patch it is left out, and its entity stays unchanged, but others of the event change
func TestANumberBombIsKeptAndNotExpanded(t *testing.T) {
	t.Parallel()
	db := open(t)
	bomb := []byte(numberBomb("n", 256<<10))
	good, bad := receipt(), receipt()
	require.NoError(t, process(db, arrival{good, parsed(snapshot("1", `{"a":1}`))}))
	_, err := db.Writer.Write(t.Context(), event.RowOnly, bad, bomb, parsed(), runOf(bad))
	require.NoError(t, err)
	require.Equal(t, bomb, value[[]byte](db, `SELECT raw_body FROM events WHERE id = $1`, bad.ID))
	require.Equal(t, "too_large", value[string](db, `SELECT payload_note FROM events WHERE id = $1 AND payload IS NULL`, bad.ID))

	p := parsed(patch("1", string(bomb)), patch("2", `{"b":1}`))
	require.NoError(t, db.UpsertEntities(t.Context(), bad, p, runOf(bad)))
	require.Equal(t, "1 thing 1 state_too_large", db.omittedOf(bad))
	require.JSONEq(t, `{"a":1}`, value[string](db, `SELECT state::text FROM entities WHERE external_id = '1'`))
	require.JSONEq(t, `{"b":1}`, value[string](db, `SELECT state::text FROM entities WHERE external_id = '2'`))
}

// omittedOf returns how many entities a processed event left out, and the first of them with the limit.
func (db *database) omittedOf(r event.Receipt) string {
	db.t.Helper()
	record, err := db.Read.Event(db.t.Context(), r.ID)
	require.NoError(db.t, err)
	require.Equal(db.t, event.StatusProcessed, record.Status)
	if record.Omitted == nil {
		return ""
	}
	first := record.Omitted.Entities[0]
	return fmt.Sprint(record.Omitted.Count, " ", first.Kind, " ", first.ExternalID, " ", first.Reason)
}

// Many patches: the one that would make an entity too large is left out, also if it is out of order or in the second page of an
// event. Other entities of the event change.
func TestAnEntityDoesNotGrowWithoutBound(t *testing.T) {
	t.Parallel()
	db := open(t)
	start := time.Now()
	at := func(minute int, c event.Change) arrival {
		a := arrival{receipt(), parsed(c)}
		a.parsed.OccurredAt = start.Add(time.Duration(minute) * time.Minute).UTC().Truncate(time.Microsecond)
		return a
	}
	grow := func(i int) event.Change { return patch("1", numberBomb("n"+strconv.Itoa(i), 20_000)) } // a megabyte each
	require.NoError(t, process(db, at(0, snapshot("1", `{"text":"`+strings.Repeat("x", 15<<19)+`"}`))))
	require.NoError(t, process(db, at(1, patch("1", `{"small":1}`))))
	before := value[string](db, `SELECT md5(state::text) FROM entities`)
	paged := make([]event.Change, 1001)
	for i := range paged {
		paged[i] = snapshot(fmt.Sprint("page", i), fmt.Sprintf(`{"n":%d}`, i))
	}
	for name, changes := range map[string][]event.Change{
		"newest": {grow(100), patch("2", `{"newest":1}`)}, "late": {patch("2", `{"late":1}`), grow(101)},
		"in pages": append(append(paged[:700:700], grow(102)), paged[700:]...),
	} {
		a := at(map[string]int{"newest": 100, "late": 0, "in pages": 103}[name], changes[0])
		a.parsed.Changes = changes
		require.NoError(t, process(db, a), name)
		require.Equal(t, "1 thing 1 entity_too_large", db.omittedOf(a.receipt), name)
		require.Equal(t, len(changes)-1, value[int](db, `SELECT count(*) FROM event_entities WHERE event_id = $1`, a.receipt.ID), name)
		require.Equal(t, before, value[string](db, `SELECT md5(state::text) FROM entities WHERE external_id = '1'`), name)
	}
	require.JSONEq(t, `{"newest":1,"late":1}`, value[string](db, `SELECT state::text FROM entities WHERE external_id = '2'`))
	require.Equal(t, 1001, value[int](db, `SELECT count(*) FROM entities WHERE state ->> 'n' = substr(external_id, 5)`))
	require.NoError(t, process(db, at(101, patch("1", `{"text":null}`))), "it can shrink")
	require.NoError(t, process(db, at(102, grow(102))))
}
