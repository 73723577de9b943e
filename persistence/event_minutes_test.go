package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/event/retention"
)

// countEvents counts events of a provider with each result, in two processes.
func (d *database) countEvents(provider string, acceptedAt time.Time, processed, ignored, dead int) {
	d.t.Helper()
	for range 2 {
		c := d.Minutes.NewEventCounter()
		for range processed {
			c.Count(provider, acceptedAt, event.OutcomeProcessed)
		}
		for range ignored {
			c.Count(provider, acceptedAt, event.OutcomeIgnored)
		}
		for range dead {
			c.CountDead(provider, acceptedAt)
		}
		c.Count(provider, acceptedAt, event.OutcomeDuplicate)
		c.Count(provider, acceptedAt, event.OutcomeLeft)
		require.NoError(d.t, c.Stop(d.t.Context()))
	}
}

// Processes add up the results of events, by provider and five minutes. A chart reads them in wider buckets, of one provider or of
// all; after 30 days they are purged.
func TestResultsOfEventsAreCountedByTime(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.countEvents("acme", noon.Add(time.Minute), 3, 2, 1)
	db.countEvents("acme", noon.Add(4*time.Minute), 1, 0, 0)
	db.countEvents("acme", noon.Add(5*time.Minute), 1, 0, 0)
	db.countEvents("other", noon.Add(25*time.Minute), 5, 0, 0)
	db.countEvents("acme", noon.Add(30*time.Minute), 0, 0, 4)
	require.Equal(t, 4, value[int](db, `SELECT count(*) FROM event_minutes`))

	read := func(provider string, since, until time.Time) []oversight.EventBucket {
		span, ok := oversight.SpanOf(since, until, noon.Add(24*time.Hour))
		require.True(t, ok)
		found, err := db.Minutes.EventHistory(t.Context(), provider, span)
		require.NoError(t, err)
		return found
	}
	day := []oversight.EventBucket{{At: noon, Processed: 20, Ignored: 4, Dead: 2}, {At: noon.Add(30 * time.Minute), Dead: 8}}
	require.Equal(t, day, read("", noon.Add(-12*time.Hour), noon.Add(12*time.Hour)))
	day[0].Processed = 10
	require.Equal(t, day, read("acme", noon.Add(-12*time.Hour), noon.Add(12*time.Hour)))
	require.Equal(t, []oversight.EventBucket{
		{At: noon, Processed: 8, Ignored: 4, Dead: 2}, {At: noon.Add(5 * time.Minute), Processed: 2},
	}, read("acme", noon, noon.Add(30*time.Minute)), "without the bucket at the end")
	require.Empty(t, read("nobody", noon, noon.Add(time.Hour)))

	for removed := int64(1); removed > 0; {
		var err error
		removed, err = db.Upkeep.PurgeBatch(t.Context(), retention.Keys, noon.Add(oversight.KeptHistory+10*time.Minute))
		require.NoError(t, err)
	}
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM event_minutes`))
}

// Processes add up the attempts at a destination and their duration, by five minutes.
func TestAttemptsAreCountedByTime(t *testing.T) {
	t.Parallel()
	db := open(t)
	for range 2 {
		c := db.Minutes.NewAttemptCounter()
		c.Count(7, true, 30*time.Millisecond)
		c.Count(7, true, 50*time.Millisecond)
		c.Count(7, false, time.Second)
		c.Count(8, false, time.Millisecond)
		require.NoError(t, c.Stop(t.Context()))
	}
	db.exec(`UPDATE delivery_minutes SET starts_at = $1`, noon.Add(5*time.Minute))
	span, ok := oversight.SpanOf(noon, noon.Add(8*time.Hour), noon.Add(8*time.Hour))
	require.True(t, ok)
	found, err := db.Minutes.DeliveryHistory(t.Context(), 7, span)
	require.NoError(t, err)
	require.Equal(t, []oversight.DeliveryBucket{{At: noon, Succeeded: 4, Failed: 2, Milliseconds: 2160}}, found)
	require.EqualValues(t, 360, found[0].Mean())
	totals, err := db.Minutes.DeliveryTotals(t.Context(), []int64{7, 8, 9}, span)
	require.NoError(t, err)
	require.Equal(t, map[int64]oversight.DeliveryBucket{7: found[0], 8: {At: noon, Failed: 2, Milliseconds: 2}}, totals)
	require.InDelta(t, 4.0/6, totals[7].Success(), 1e-9)
	found, err = db.Minutes.DeliveryHistory(t.Context(), 9, span)
	require.NoError(t, err)
	require.Empty(t, found)

	for removed := int64(1); removed > 0; {
		removed, err = db.Upkeep.PurgeBatch(t.Context(), retention.Keys, noon.Add(oversight.KeptHistory+10*time.Minute))
		require.NoError(t, err)
	}
	require.Zero(t, value[int](db, `SELECT count(*) FROM delivery_minutes`))
}
