package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
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
