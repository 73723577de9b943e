package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/retention"
)

// An accepted event whose content was received before names the first event: on its own, in lists, and to destinations. The
// filter finds only such events.
func TestPossibleDuplicatesAreShown(t *testing.T) {
	t.Parallel()
	db := open(t)
	first, second, other := guessed("c1", 0), guessed("c1", time.Hour), guessed("c2", time.Hour)
	for _, r := range []event.Receipt{first, second, other} {
		db.process(r, parsed(snapshot(r.ID, `{}`)))
	}
	record, err := db.Read.Event(t.Context(), second.ID)
	require.NoError(t, err)
	require.Equal(t, first.ID, record.PossibleDuplicateOf)
	all, err := db.Read.Events(t.Context(), event.RecordQuery{})
	require.NoError(t, err)
	require.Len(t, all, 3)
	marked, err := db.Read.Events(t.Context(), event.RecordQuery{PossibleDuplicates: true})
	require.NoError(t, err)
	require.Len(t, marked, 1)
	require.Equal(t, second.ID, marked[0].Receipt.ID)
	require.Equal(t, first.ID, marked[0].PossibleDuplicateOf)
	messages, _, err := db.Subscriptions.Messages(t.Context(), []string{first.ID, second.ID}, 1<<20)
	require.NoError(t, err)
	require.Empty(t, messages[first.ID].PossibleDuplicateOf)
	require.Equal(t, first.ID, messages[second.ID].PossibleDuplicateOf)
}

// Contents are deleted after 31 days, and with an event that is expunged; the others stay.
func TestContentsAreRemoved(t *testing.T) {
	t.Parallel()
	db := open(t)
	const day = 24 * time.Hour
	old, young, secret := guessed("c1", 0), guessed("c2", day), guessed("c3", day)
	for _, r := range []event.Receipt{old, young, secret} {
		db.process(r, parsed())
	}
	contents := func() []string {
		return value[[]string](db, `SELECT coalesce(array_agg(content ORDER BY content), '{}') FROM event_contents`)
	}
	_, err := db.Upkeep.Expunge(t.Context(), secret.ID, 0, ada)
	require.NoError(t, err)
	require.Equal(t, []string{"c1", "c2"}, contents())
	require.Zero(t, db.purge(retention.Keys, noon.Add(31*day)))
	require.EqualValues(t, 1, db.purge(retention.Keys, noon.Add(31*day+time.Hour)))
	require.Equal(t, []string{"c2"}, contents())
}
