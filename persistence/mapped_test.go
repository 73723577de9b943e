package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/event/retention"
)

// Processes add up in how many events rules found an entity. The doctor reads those of a day; older ones are purged.
func TestMappedEventsAreCountedByProvider(t *testing.T) {
	t.Parallel()
	db := open(t)
	count := func(provider string, m event.Mapping, n int) {
		c := db.Minutes.NewMappingCounter()
		for range n {
			c.Count(provider, m)
		}
		require.NoError(t, c.Stop(t.Context()))
	}
	count("acme", event.Unmapped, 3)
	db.exec(`UPDATE mapped_minutes SET minute = minute - interval '8 days'`)
	count("acme", event.Unmapped, 2)
	count("acme", event.Unmapped, 1)
	count("acme", event.Mapped, 4)
	count("other", event.Mapped, 1)
	count("other", "", 7)
	counts, err := db.Minutes.Mapped(t.Context())
	require.NoError(t, err)
	require.Equal(t, []oversight.MappedEvents{{Provider: "acme", Mapped: 4, Unmapped: 3}, {Provider: "other", Mapped: 1}}, counts)

	for removed := int64(1); removed > 0; {
		removed, err = db.Upkeep.PurgeBatch(t.Context(), retention.Keys, time.Now())
		require.NoError(t, err)
	}
	require.Equal(t, []int{7, 1}, []int{
		value[int](db, `SELECT sum(mapped + unmapped) FROM mapped_minutes WHERE provider = 'acme'`),
		value[int](db, `SELECT count(*) FROM mapped_minutes WHERE provider = 'other'`),
	})
}

// A rebuild counts again in which events rules find an entity, so that nothing reports what it has repaired: a day later at the
// latest it would be forgotten anyway. A dry run leaves the counts alone, and so does a rebuild of another kind or provider.
func TestARebuildCountsMappedEventsAgain(t *testing.T) {
	t.Parallel()
	db := open(t)
	today := definition{}
	finds := func(r event.Receipt, unmapped bool, changes ...event.Change) {
		today[r.ID] = func() (event.Parsed, error) {
			p := parsed(changes...)
			p.Unmapped = unmapped
			return p, nil
		}
	}
	counter := db.Minutes.NewMappingCounter()
	for i := range 7 {
		r := receipt()
		db.process(r, parsed())
		counter.Count("acme", event.Unmapped)
		switch i {
		case 0: // the rule is no longer meant for it
			finds(r, false)
		case 1: // still wrong
			finds(r, true)
		default:
			finds(r, false, patch("1", `{"n":1}`))
		}
	}
	counter.Count("other", event.Unmapped)
	require.NoError(t, counter.Stop(t.Context()))
	read := func() map[string]oversight.MappedEvents {
		counts, err := db.Minutes.Mapped(t.Context())
		require.NoError(t, err)
		by := map[string]oversight.MappedEvents{}
		for _, c := range counts {
			by[c.Provider] = c
		}
		return by
	}
	db.rebuild("dry", operation.RebuildFilter{}, true, 3, today.parse)
	db.rebuild("kind", operation.RebuildFilter{Provider: "acme", Kind: "nothing"}, false, 3, today.parse)
	require.Equal(t, oversight.MappedEvents{Provider: "acme", Unmapped: 6}, read()["acme"], "one isn't meant, and none has changed")
	db.rebuild("one", operation.RebuildFilter{Provider: "acme"}, false, 3, today.parse)
	require.Equal(t, map[string]oversight.MappedEvents{
		"acme": {Provider: "acme", Mapped: 5, Unmapped: 1}, "other": {Provider: "other", Unmapped: 1},
	}, read())
	db.rebuild("all", operation.RebuildFilter{}, false, 2, today.parse)
	require.Equal(t, map[string]oversight.MappedEvents{"acme": {Provider: "acme", Mapped: 5, Unmapped: 1}}, read())
}
