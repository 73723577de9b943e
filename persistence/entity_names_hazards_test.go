package persistence_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/event/retention"
	"holdfast/internal/devstack/stacktest"
	"holdfast/migrations"
)

// unnamed is a change of a member as it was parsed before its kind had several names.
func unnamed(id, state string) event.Change {
	return event.Change{Kind: "member", ExternalID: id, Op: event.OpPatch, State: json.RawMessage(state)}
}

// Changes before the base are counted, also if the event (or another one of its group) has names.
func TestWithoutEffectBesideNames(t *testing.T) {
	t.Parallel()
	b := newBookkeeper(t)
	b.CheckpointEvery(2)
	for i := range 3 {
		e := at(i, member(fmt.Sprintf(`{"a":%d}`, i), "CU1"))
		e.receipt = receiptAt(noon.Add(-time.Hour))
		b.mustProcess(e.receipt, e.parsed)
	}
	require.EqualValues(t, 3, b.purge(retention.Events, noon))
	late := at(1, member(`{"late":1}`, "CU1"))
	require.Equal(t, event.Persisted{Processed: true, WithoutEffect: 1}, b.mustProcess(late.receipt, late.parsed))
}

// A definition gives names to a kind: a rebuild results in the same entities as processing all events again.
func TestARebuildLearnsNames(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 20} {
		t.Run(fmt.Sprint("page of ", n), func(t *testing.T) {
			t.Parallel()
			db := open(t)
			today := definition{}
			one, other := receipt(), receipt()
			db.process(one, parsed(unnamed("CU1", `{"a":1}`)))
			db.process(other, parsed(unnamed("MD1", `{"b":1}`)))
			today.reads(one, member(`{"a":1}`, "CU1", "MD1"))
			today.reads(other, member(`{"b":1}`, "", "MD1"))
			db.rebuild("first", operation.RebuildFilter{}, false, n, today.parse)
			second := db.rebuild("second", operation.RebuildFilter{}, false, n, today.parse)
			require.Equal(t, "read 2 changed 0 unreadable 0 skipped 0 entities 0", counts(second))
			e, err := db.Read.Entity(t.Context(), memberNamed("MD1"))
			require.NoError(t, err)
			require.Equal(t, memberNamed("CU1"), e.EntityRef)
			require.JSONEq(t, `{"a":1,"b":1}`, string(e.State))
			require.Equal(t, 1, value[int](db, `SELECT count(*) FROM entities`))
		})
	}
}

// An entity is left under a lesser name (TestAnEntityUnderALesserNameIsMergedLater), and an event contradicts what the name
// stands for: it is processed all the same.
func TestAContradictionBesideALeftover(t *testing.T) {
	t.Parallel()
	db := open(t)
	for i, c := range []event.Change{
		member(`{"a":1}`, "CU2", "MD1"), unnamed("MD1", `{"old":1}`), member(`{"b":1}`, "CU1", "MD1"),
	} {
		e := at(i, c)
		_, err := db.Writer.Write(t.Context(), event.WholeEvent, e.receipt, body, e.parsed, runOf(e.receipt))
		if err != nil { // like the steps
			_, err = db.Writer.Write(t.Context(), event.RowOnly, e.receipt, body, e.parsed, runOf(e.receipt))
			require.NoError(t, err)
			err = db.UpsertEntities(t.Context(), e.receipt, e.parsed, runOf(e.receipt))
		}
		require.NoError(t, err, "event %d", i)
	}
}

// A definition puts a better name first: the resulting entities don't depend on the order of events.
func TestABetterNameInFront(t *testing.T) {
	t.Parallel()
	named := func(state string, names ...event.Name) event.Change {
		return event.Change{
			Kind: "member", Op: event.OpPatch, State: json.RawMessage(state), ExternalID: names[0].Name, Names: names,
		}
	}
	short := named(`{"x":1}`, event.Name{Rank: 0, Name: "CU1"}, event.Name{Rank: 1, Name: "MD1"})
	long := named(`{"y":1}`, event.Name{Rank: 0, Name: "CU1"}, event.Name{Rank: 1, Name: "MD1"}, event.Name{Rank: 2, Name: "SB1"})
	for name, order := range map[string][]event.Change{"short first": {short, long}, "long first": {long, long}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			before := at(0, named(`{"a":1}`, event.Name{Rank: 0, Name: "MD1"}, event.Name{Rank: 1, Name: "SB1"}))
			db.mustProcess(before.receipt, before.parsed)
			for i, c := range order {
				e := at(i+1, c)
				db.mustProcess(e.receipt, e.parsed)
			}
			e, err := db.Read.Entity(t.Context(), memberNamed("MD1"))
			require.NoError(t, err)
			require.Equal(t, memberNamed("CU1"), e.EntityRef)
			require.Equal(t, 1, value[int](db, `SELECT count(*) FROM entities`))
		})
	}
}

// A batch has more names than the server has locks for: it gets smaller. The server is its own, since no other test there gets a lock.
func TestManyNamesInABatch(t *testing.T) {
	t.Parallel()
	url := stacktest.NewCluster(t).Database(t)
	require.NoError(t, migrations.Up(t.Context(), url))
	db := openURL(t, url)
	const events = 100
	for range events {
		db.bulk(receipt())
	}
	n := 0
	_, err := db.Writer.ProcessBatch(t.Context(), events, newBatchRun(), func(event.Receipt, []byte) (event.Parsed, error) {
		n++
		p := parsed()
		for i := range 250 { // twice as many names, the maximum of an event
			p.Changes = append(p.Changes, member(`{"a":1}`, fmt.Sprintf("CU%d-%d", n, i), fmt.Sprintf("MD%d-%d", n, i)))
		}
		return p, nil
	})
	require.NoError(t, err)
	require.Less(t, value[int](db, `SELECT count(*) FROM inbox WHERE lane = 'bulk'`), events)
}

// The table of names is locked (by a migration, or VACUUM FULL): that is no event's fault, and the events stay.
func TestTheTableOfNamesIsHeld(t *testing.T) {
	t.Parallel()
	db := open(t)
	changes := map[string]event.Change{}
	for range 4 {
		r := db.bulk(receipt())
		changes[r.ID] = member(`{"a":1}`, "CU1", "MD1")
	}
	release := db.hold(`LOCK TABLE entity_names IN ACCESS EXCLUSIVE MODE`)
	defer release()
	_, err := db.Writer.ProcessBatch(t.Context(), 100, newBatchRun(), func(r event.Receipt, _ []byte) (event.Parsed, error) {
		return parsed(changes[r.ID]), nil
	})
	require.Error(t, err)
	require.Equal(t, 4, value[int](db, `SELECT count(*) FROM inbox WHERE lane = 'bulk'`))
}

// Like TestAllWhoWaitForAnEntityLeaveTogether: another writer of the member has locked its name, and waits for something else.
func TestAllWhoWaitForANameLeaveTogether(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]string{
		"the entity": `SELECT FROM entities WHERE external_id = 'CU1' FOR UPDATE`,
		"the name":   `SELECT pg_advisory_xact_lock(hashtextextended(jsonb_build_array('acme', 'member', 'CU1')::text, 1))`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			db.mustProcess(receipt(), parsed(member(`{"a":1}`, "CU1")))
			for range 60 {
				db.bulk(receipt())
			}
			release := db.hold(hold)
			defer release()
			events, err := db.Writer.ProcessBatch(t.Context(), 100, newBatchRun(), func(event.Receipt, []byte) (event.Parsed, error) {
				return parsed(member(`{"b":1}`, "CU1")), nil
			})
			require.NoError(t, err)
			require.Len(t, events, 60)
		})
	}
}

// A missing rebuild (or replay) is not found, rather than ended.
func TestNoRebuildIsNotFound(t *testing.T) {
	t.Parallel()
	db := open(t)
	_, err := db.Rebuilds.Change(t.Context(), "none", operation.Paused, oversight.Actor{Name: "ada"})
	require.ErrorIs(t, err, event.ErrNotFound)
}
