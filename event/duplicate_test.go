package event_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// An event conflicts with the owner of its key only if the two are known to differ: they have other content, and it isn't the
// same event that came again. It is dropped as a duplicate unless its key is certain.
func TestOnlyOtherContentIsAConflict(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	r := event.Receipt{
		ID: "b", Provider: "acme", Source: "shop", Key: "k", Type: "made", Fingerprint: "sha256:2", ReceivedAt: at, Certain: true,
	}
	conflict := &event.Conflict{
		Provider: "acme", Source: "shop", Key: "k", Type: "made", EventID: "b", Owner: "a", OwnerFingerprint: "sha256:1",
		Fingerprint: "sha256:2", FirstSeen: at, LastSeen: at, Times: 1,
	}
	unknown := r
	unknown.Fingerprint = ""
	for name, c := range map[string]struct {
		receipt            event.Receipt
		owner, fingerprint string
		want               *event.Conflict
	}{
		"other content":                       {r, "a", "sha256:1", conflict},
		"the same content":                    {r, "a", "sha256:2", nil},
		"no owner":                            {r, "", "sha256:1", nil},
		"the event itself":                    {r, "b", "sha256:1", nil},
		"the owner's content isn't on record": {r, "a", "", nil},
		"its own isn't":                       {unknown, "a", "sha256:1", nil},
	} {
		require.Equal(t, c.want, c.receipt.ConflictWith(c.owner, c.fingerprint), name)
	}

	require.True(t, r.IsConflict(conflict))
	require.False(t, r.IsConflict(nil))
	guessed := r
	guessed.Certain = false
	require.False(t, guessed.IsConflict(conflict), "a guessed key says nothing")
	apart := r.WithConflictKey("a")
	require.False(t, apart.IsConflict(conflict), "it has a key of its own by now")
	require.Equal(t, "a", apart.ConflictsWith)
	require.Equal(t, &event.EarlierKey{Key: "k", Fingerprint: "sha256:2"}, apart.Earlier)
	require.NotEqual(t, r.Key, apart.Key)
	require.Equal(t, apart.Key, r.WithConflictKey("a").Key, "another delivery of the same content gets the same key")
	other := r
	other.Fingerprint = "sha256:3"
	require.NotEqual(t, apart.Key, other.WithConflictKey("a").Key)
}

// Two events of a guessed key are one within the dedupe window, and two from its end on. Without a window they are always one.
func TestADedupeWindow(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	id := event.FirstIDAt(at)
	r := event.Receipt{ID: id[:14] + "7" + id[15:], ReceivedAt: at, DedupeWindow: event.Duration(time.Hour), Content: "sha256:1"}
	late, forever := r, r
	late.ReceivedAt, forever.DedupeWindow = at.Add(50*time.Minute), 0 // late is a redelivery that runs as the event
	for _, c := range []struct {
		other               time.Duration
		apart, before, late bool // late: before the window of the redelivery
	}{
		{other: 0},
		{other: time.Hour - 1},
		{other: time.Hour, apart: true, before: true, late: true},
		{other: 90 * time.Minute, apart: true, before: true, late: true},
		{other: 1 - time.Hour},
		{other: -time.Hour, apart: true},
	} {
		other := at.Add(c.other)
		require.Equal(t, c.apart, r.OutsideWindowOf(other), c.other)
		require.Equal(t, c.before, r.BeforeWindowOf(other), c.other)
		require.Equal(t, c.late, late.BeforeWindowOf(other), c.other)
		require.False(t, forever.OutsideWindowOf(other))
		require.False(t, forever.BeforeWindowOf(other))
	}
	imported := r
	imported.ReceivedAt = at.Add(-30 * time.Minute) // by another system, before it got its ID
	require.True(t, imported.BeforeWindowOf(at.Add(30*time.Minute)))
	require.Equal(t, at, late.WindowStart())
	require.Zero(t, forever.WindowStart())

	require.True(t, r.IsUndecidable())
	require.False(t, forever.IsUndecidable())
	r.Content = ""
	require.False(t, r.IsUndecidable(), "a delivery ID tells them apart")
}
