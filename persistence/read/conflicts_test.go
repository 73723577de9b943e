package read_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/retention"
	"holdfast/persistence/persistencetest"
)

// An event with the key of another one:
//   - counts as a duplicate, and is recorded as a conflict with both fingerprints, each once, however often it is tried
//   - is no conflict if it is another delivery of the first, or if no fingerprint is on record
func TestAnEventWithTheKeyOfAnotherIsAConflict(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	first := receipt()
	first.Fingerprint = "sha256:a"
	d.Process(first, parsed())
	same, other, unknown := sameKey(first, time.Minute), sameKey(first, 2*time.Minute), sameKey(first, 3*time.Minute)
	same.Fingerprint, other.Fingerprint, other.Source = "sha256:a", "sha256:b", "shop-1"
	for _, r := range []event.Receipt{same, other, other, unknown} {
		persisted, err := d.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
		require.NoError(t, err)
		require.True(t, persisted.Duplicate)
		require.Equal(t, first.ID, persisted.Owner)
		require.Equal(t, r.ID == other.ID, persisted.Conflict != nil)
	}
	all := d.Conflicts()
	require.Len(t, all, 1)
	require.Equal(t, event.Conflict{
		ID: all[0].ID, Provider: "acme", Source: "shop-1", Key: first.Key, Type: first.Type, EventID: other.ID, Owner: first.ID,
		OwnerFingerprint: "sha256:a", Fingerprint: "sha256:b", FirstSeen: other.ReceivedAt, LastSeen: other.ReceivedAt, Times: 1,
	}, all[0])
	again := sameKey(first, time.Hour)
	again.Fingerprint = "sha256:b"
	_, err := d.Writer.Write(t.Context(), event.RowOnly, again, body, parsed(), runOf(again))
	require.NoError(t, err)
	require.EqualValues(t, 2, d.Conflicts()[0].Times)
	require.Equal(t, other.ReceivedAt, d.Conflicts()[0].FirstSeen)
	require.Equal(t, again.ReceivedAt, d.Conflicts()[0].LastSeen)
	purged, err := d.Upkeep.PurgeBatch(t.Context(), retention.Errors, again.ReceivedAt.Add(time.Second))
	require.NoError(t, err)
	require.EqualValues(t, 1, purged)
	require.Empty(t, d.Conflicts())
}
