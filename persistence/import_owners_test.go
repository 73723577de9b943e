package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// The owners of keys that were imported:
//   - an event, a dead letter and a key alone
//   - a discarded dead letter, which isn't open
//   - a key that nothing has
//
// Their provider has a recent import until it is 30 days old. A provider of which only an entity was imported has no keys.
func TestOwnersOfImportedKeysAreFound(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 2)
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	recent := func() []string {
		t.Helper()
		providers, err := m.Duplicates.ImportedProviders(t.Context())
		require.NoError(t, err)
		return providers
	}
	require.Empty(t, recent())
	m.bring(m.snapshot("1", `{"n":1}`, at))
	require.Empty(t, recent())
	processed, letter, key := m.event("a", at, patchBody("1", `{"n":2}`)), m.letter("b", at, patchBody("2", `{"n":3}`), false), m.key("c", at)
	m.bring(processed, letter, key)
	require.Equal(t, []string{"acme"}, recent())

	var rs []event.Receipt
	for _, key := range []string{"c", "nothing", "b", "a"} {
		rs = append(rs, event.Receipt{Provider: "acme", Key: key})
	}
	rs = append(rs, event.Receipt{Provider: "other", Key: "a"})
	number := value[int64](m.database, `SELECT id FROM dead_letters`)
	want := []event.Owner{
		{ID: key.Receipt.ID, ReceivedAt: at}, {}, {ID: letter.Receipt.ID, ReceivedAt: at, DeadLetterID: number},
		{ID: processed.Receipt.ID, ReceivedAt: at, Status: event.StatusProcessed}, {},
	}
	owners := func() []event.Owner {
		t.Helper()
		found, err := m.Duplicates.Owners(t.Context(), rs)
		require.NoError(t, err)
		for i := range found {
			found[i].ReceivedAt = found[i].ReceivedAt.UTC()
		}
		return found
	}
	require.Equal(t, want, owners())
	m.exec(`UPDATE dead_letters SET state = 'discarded', discarded_at = now(), discarded_by = 'ada', discard_reason = 'old'`)
	require.Zero(t, owners()[2].DeadLetterID)

	m.exec(`UPDATE imports SET started_at = started_at - interval '31 days'`)
	require.Empty(t, recent())
}
