package fold_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast/event"
	"holdfast/event/fold"
)

var ref = event.EntityRef{Provider: "acme", Kind: "thing", ExternalID: "1"}

// life gives the changes one second and one event each.
func life(changes ...event.Change) (ordered []event.OrderedChange) {
	for i, c := range changes {
		ordered = append(ordered, event.OrderedChange{
			Order:  event.Order{Version: c.Version, OccurredAt: time.Unix(int64(i), 0), EventID: strconv.Itoa(i)},
			Change: c,
		})
	}
	return ordered
}

func change(op event.Op, state string) event.Change {
	return event.Change{Op: op, State: json.RawMessage(state)}
}

func TestFold(t *testing.T) {
	t.Parallel()
	snapshot, patch, tombstone := event.OpSnapshot, event.OpPatch, event.OpDelete
	for _, c := range []struct {
		name    string
		changes []event.Change
		state   string
		deleted bool
	}{
		{"nothing", nil, `{}`, false},
		{"a snapshot replaces", []event.Change{
			change(snapshot, `{"a":1,"b":2}`), change(snapshot, `{"a":3}`),
		}, `{"a":3}`, false},
		{"a patch merges", []event.Change{
			change(snapshot, `{"a":1,"b":{"c":2,"d":3}}`), change(patch, `{"b":{"c":null,"e":4}}`),
		}, `{"a":1,"b":{"d":3,"e":4}}`, false},
		{"a patch creates, without its nulls", []event.Change{
			change(patch, `{"a":1,"b":null,"c":{"d":null}}`),
		}, `{"a":1,"c":{}}`, false},
		{"a snapshot keeps its nulls", []event.Change{
			change(snapshot, `{"a":null}`), change(patch, `{"b":1}`),
		}, `{"a":null,"b":1}`, false},
		{"a delete keeps the last state", []event.Change{
			change(snapshot, `{"a":1}`), change(tombstone, `{"a":2}`),
		}, `{"a":2}`, true},
		{"a delete of the unknown", []event.Change{change(tombstone, ``)}, `{}`, true},
		{"a patch does not revive", []event.Change{
			change(tombstone, `{"a":1}`), change(patch, `{"b":2}`),
		}, `{"a":1,"b":2}`, true},
		{"a snapshot revives", []event.Change{
			change(tombstone, `{"a":1}`), change(snapshot, `{"b":2}`),
		}, `{"b":2}`, false},
		{"digits stay", []event.Change{
			change(snapshot, `{"a":12345678901234567890.10}`), change(patch, `{"b":1e-300,"c":"<&>"}`),
		}, `{"a":12345678901234567890.10,"b":1e-300,"c":"<&>"}`, false},
		{"a change without a state", []event.Change{
			change(snapshot, `{"a":1}`), change(patch, ``),
		}, `{"a":1}`, false},
	} {
		e, err := fold.Of(ref, life(c.changes...))
		require.NoError(t, err, c.name)
		require.Equal(t, c.state, string(e.State), c.name)
		require.Equal(t, c.deleted, e.Deleted, c.name)
		require.Equal(t, ref, e.EntityRef, c.name)
	}
}

func TestAFoldRefusesAnInvalidState(t *testing.T) {
	t.Parallel()
	for _, c := range []event.Change{
		change(event.OpPatch, `{`), change(event.OpPatch, `{} {}`), change(event.OpPatch, `nope`),
		change("rename", `{}`),
	} {
		_, err := fold.Of(ref, life(c))
		require.Equal(t, event.ClassRejected, event.ClassOf(err), string(c.State))
	}
}

// The examples of RFC 7396, appendix A.
func TestMergePatchOfTheRFC(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		got, err := fold.MergePatch(json.RawMessage(c[0]), json.RawMessage(c[1]))
		require.NoError(t, err)
		require.Equal(t, c[2], string(got), "%s + %s", c[0], c[1])
	}
}

func TestAFoldDoesNotDependOnTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		changes := rapid.SliceOfN(orderedChanges(), 1, 12).Draw(t, "changes")
		for i := range changes {
			changes[i].Order.EventID = strconv.Itoa(100 + i)
		}
		want, err := fold.Of(ref, changes)
		require.NoError(t, err)
		arrived := rapid.Permutation(changes).Draw(t, "arrived")
		got, err := fold.Of(ref, arrived)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func orderedChanges() *rapid.Generator[event.OrderedChange] {
	ops := rapid.SampledFrom([]event.Op{event.OpSnapshot, event.OpPatch, event.OpPatch, event.OpDelete})
	states := rapid.SampledFrom([]string{`{"a":1}`, `{"a":null,"b":2}`, `{"b":{"c":3}}`, `{"b":{"c":null}}`, ``})
	return rapid.Custom(func(t *rapid.T) event.OrderedChange {
		c := event.Change{Op: ops.Draw(t, "op"), State: json.RawMessage(states.Draw(t, "state"))}
		if v := rapid.Int64Range(-1, 3).Draw(t, "version"); v >= 0 {
			c.Version = &v
		}
		at := time.Unix(rapid.Int64Range(0, 3).Draw(t, "second"), rapid.Int64Range(0, 3).Draw(t, "nanosecond")*700)
		return event.OrderedChange{Order: event.Order{Version: c.Version, OccurredAt: at.UTC()}, Change: c}
	})
}

// An entity that grows event by event, as the store does it: a change that comes last is applied, one that comes late makes the
// fold run again, one that is there already changes nothing. However the events arrive, and however often, it is what the fold
// of all of them is.
func TestAnEntityGrowsIntoItsFold(t *testing.T) {
	t.Parallel()
	const arrivals = 30 // of each life, so that a run without flags sees thousands
	rapid.Check(t, func(t *rapid.T) {
		changes := rapid.SliceOfN(orderedChanges(), 1, 12).Draw(t, "changes")
		for i := range changes {
			changes[i].Order.EventID = strconv.Itoa(100 + i)
		}
		want, err := fold.Of(ref, changes)
		require.NoError(t, err)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range arrivals {
			arrived := slices.Concat(changes, changes[:random.IntN(len(changes))])
			random.Shuffle(len(arrived), func(i, j int) { arrived[i], arrived[j] = arrived[j], arrived[i] })
			require.Equal(t, want, grow(t, arrived))
		}
	})
}

// grow takes the changes one by one.
func grow(t *rapid.T, arrived []event.OrderedChange) (e event.Entity) {
	known := map[string]bool{}
	var all []event.OrderedChange
	e, err := fold.Of(ref, nil)
	require.NoError(t, err)
	for _, c := range arrived {
		if known[c.Order.EventID] {
			continue
		}
		late := len(all) > 0 && c.Order.Compare(e.Last) < 0
		known[c.Order.EventID], all = true, append(all, c)
		if late {
			e, err = fold.Of(ref, all)
		} else {
			e, err = fold.Apply(e, c)
		}
		require.NoError(t, err)
	}
	return e
}
