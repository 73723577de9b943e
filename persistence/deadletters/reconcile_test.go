package deadletters_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/persistencetest"
)

// Of the stored and unprocessed events, those are found that nothing else would report.
func TestUnfinishedEventsAreFound(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	processed, dead, decided := receipt(), receipt(), receipt()
	waiting := []event.Receipt{receipt(), receipt()}
	db.Process(processed, parsed())
	for _, r := range append(waiting, dead, decided) {
		_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
		require.NoError(t, err)
	}
	db.Record(deadLetter(dead))
	db.Record(deadLetter(decided))
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), db.DeadLetterOf(decided).ID, ada))

	found, err := db.DeadLetters.Unfinished(t.Context(), persistencetest.AllRows(10))
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, waiting[0], found[0].Receipt)
	require.Equal(t, body, found[0].Body)
	require.Equal(t, runOf(waiting[0]), found[0].Run)

	page := persistencetest.AllRows(1)
	page.After = waiting[0].ID
	found, err = db.DeadLetters.Unfinished(t.Context(), page)
	require.NoError(t, err)
	require.Equal(t, waiting[1].ID, found[0].Receipt.ID)
	page.Before = waiting[1].ID
	found, err = db.DeadLetters.Unfinished(t.Context(), page)
	require.NoError(t, err)
	require.Empty(t, found)
}

// A missing key matters only while its window lasts, and is never assigned to another event.
func TestAMissingKeyIsClaimed(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	kept, lost, over := receipt(), receipt(), receipt()
	over.DedupeWindow = event.Duration(time.Hour)
	for _, r := range []event.Receipt{kept, lost, over} {
		db.Process(r, parsed())
	}
	db.Exec(`DELETE FROM idempotency_keys WHERE event_id <> $1`, kept.ID)

	found, last, err := db.DeadLetters.Keyless(t.Context(), persistencetest.AllRows(10))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, lost.ID, found[0].ID)
	require.Equal(t, over.ID, last)
	require.NoError(t, db.DeadLetters.ClaimKey(t.Context(), found[0]))
	again := lost
	again.ID = receipt().ID
	persisted, err := db.Writer.Write(t.Context(), event.RowOnly, again, body, parsed(), runOf(again))
	require.NoError(t, err)
	require.Equal(t, lost.ID, persisted.Owner)

	found, last, err = db.DeadLetters.Keyless(t.Context(), operation.RowPage{After: over.ID, Before: persistencetest.AllRows(1).Before, Limit: 10})
	require.NoError(t, err)
	require.Empty(t, found)
	require.Empty(t, last)
}
