package persistence_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/retention"
	"holdfast/persistence"
)

// again returns a duplicate, of a known owner or with the key only.
func again(r event.Receipt, owner string, at time.Time) event.Duplicate {
	return event.Duplicate{Provider: r.Provider, Key: r.Key, Owner: owner, At: at}
}

// Duplicates are visible once the counter has written: those of a known event, and those of which only the key is known, also if
// the event is in the inbox. A flood of one event is one row.
func TestDuplicatesAreCounted(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, waits := receipt(), receipt()
	db.mustProcess(r, parsed())
	_, err := db.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneOverflow, waits, body, false)
	require.NoError(t, err)
	none, err := db.Read.Duplicates(t.Context(), r.ID)
	require.NoError(t, err)
	require.Zero(t, none)

	counters := []*persistence.DuplicateCounter{db.Duplicates.NewCounter(), db.Duplicates.NewCounter()}
	var counting sync.WaitGroup
	for n, c := range counters {
		counting.Go(func() {
			for i := range 500 {
				at := noon.Add(time.Duration(i+n) * time.Second)
				c.Count(again(r, r.ID, at))
				c.Count(again(r, "", at))
				c.Count(again(waits, "", at))
				c.Count(again(receipt(), "", at)) // it has no owner
				c.Count(again(receipt(), "no ID", at))
			}
		})
	}
	counting.Wait()
	for _, c := range counters {
		require.NoError(t, c.Stop(t.Context()))
	}
	for id, times := range map[string]int64{r.ID: 2000, waits.ID: 1000} {
		got, err := db.Read.Duplicates(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, event.Duplicates{Times: times, FirstSeen: noon, LastSeen: noon.Add(500 * time.Second)}, got)
	}
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM event_duplicates`))
}

// The update of a count touches no index.
func TestACountOfDuplicatesIsUpdatedInPlace(t *testing.T) {
	t.Parallel()
	db := open(t)
	for range 5 {
		c := db.Duplicates.NewCounter()
		for range 20 {
			c.Count(again(event.Receipt{}, uuid.NewSHA1(uuid.Nil, []byte("one")).String(), noon))
		}
		require.NoError(t, c.Stop(t.Context()))
	}
	require.Equal(t, 100, value[int](db, `SELECT times FROM event_duplicates`))
	db.exec(`SELECT pg_stat_force_next_flush()`)
	require.Eventually(t, func() bool {
		db.exec(`SELECT pg_stat_clear_snapshot()`)
		n := value[int](db, `SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'event_duplicates'`)
		return n == 4 && n == value[int](db, `SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'event_duplicates'`)
	}, time.Minute, 50*time.Millisecond)
}

// Counts are removed with their events, and not before.
func TestCountsOfDuplicatesGoWithTheirEvents(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.mustProcess(r, parsed())
	c := db.Duplicates.NewCounter()
	c.Count(again(r, r.ID, noon))
	require.NoError(t, c.Stop(context.Background()))
	db.purge(retention.Events, time.Now().Add(-time.Hour))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM event_duplicates`))
	for db.purge(retention.Events, time.Now().Add(time.Hour)) > 0 {
	}
	require.Zero(t, value[int](db, `SELECT count(*) FROM event_duplicates`))
}

// A redelivery that only the database recognizes has got an ID of its own, which leads to the event until events of its age are purged.
// Nothing is kept for the event itself when its run is retried.
func TestTheIDOfARedeliveryIsKept(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.mustProcess(r, parsed())
	db.mustProcess(r, parsed())
	require.Zero(t, value[int](db, `SELECT count(*) FROM redeliveries`))
	var ids []string
	for range 3 {
		again := r
		again.ID = uuid.Must(uuid.NewV7()).String()
		ids = append(ids, again.ID)
		persisted, err := db.Writer.Write(t.Context(), event.WholeEvent, again, body, parsed(), runOf(again))
		require.NoError(t, err)
		require.True(t, persisted.Duplicate)
		_, err = db.Writer.Write(t.Context(), event.WholeEvent, again, body, parsed(), runOf(again))
		require.NoError(t, err, "a retry")
	}
	for _, id := range ids {
		owner, err := db.Read.OwnerOfRedelivery(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, r.ID, owner)
	}
	_, err := db.Read.OwnerOfRedelivery(t.Context(), r.ID)
	require.ErrorIs(t, err, event.ErrNotFound)

	dead := deadLetterOf(r)
	dead.Receipt.ID = uuid.Must(uuid.NewV7()).String()
	require.Error(t, db.DeadLetters.RecordDeadLetter(t.Context(), dead), "it failed before it was parsed")
	owner, err := db.Read.OwnerOfRedelivery(t.Context(), dead.Receipt.ID)
	require.NoError(t, err)
	require.Equal(t, r.ID, owner)
	db.purge(retention.Events, time.Now().Add(-time.Hour))
	require.Equal(t, 4, value[int](db, `SELECT count(*) FROM redeliveries`))
	for db.purge(retention.Events, time.Now().Add(time.Hour)) > 0 {
	}
	require.Zero(t, value[int](db, `SELECT count(*) FROM redeliveries`))
}
