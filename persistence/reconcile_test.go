package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
)

// allRows is a page of all events.
func allRows(limit int) operation.RowPage {
	return operation.RowPage{After: event.FirstIDAt(time.Time{}), Before: event.FirstIDAt(time.Now().Add(time.Hour)), Limit: limit}
}

// Of the stored and unprocessed events, those are found that nothing else would report.
func TestUnfinishedEventsAreFound(t *testing.T) {
	t.Parallel()
	db := open(t)
	processed, dead, decided := receipt(), receipt(), receipt()
	waiting := []event.Receipt{receipt(), receipt()}
	db.process(processed, parsed())
	for _, r := range append(waiting, dead, decided) {
		_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
		require.NoError(t, err)
	}
	db.record(deadLetter(dead))
	db.record(deadLetter(decided))
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), db.deadLetterOf(decided).ID, ada))

	found, err := db.DeadLetters.Unfinished(t.Context(), allRows(10))
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, waiting[0], found[0].Receipt)
	require.Equal(t, body, found[0].Body)
	require.Equal(t, runOf(waiting[0]), found[0].Run)

	page := allRows(1)
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
	db := open(t)
	kept, lost, over := receipt(), receipt(), receipt()
	over.DedupeWindow = event.Duration(time.Hour)
	for _, r := range []event.Receipt{kept, lost, over} {
		db.process(r, parsed())
	}
	db.exec(`DELETE FROM idempotency_keys WHERE event_id <> $1`, kept.ID)

	found, last, err := db.DeadLetters.Keyless(t.Context(), allRows(10))
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

	found, last, err = db.DeadLetters.Keyless(t.Context(), operation.RowPage{After: over.ID, Before: allRows(1).Before, Limit: 10})
	require.NoError(t, err)
	require.Empty(t, found)
	require.Empty(t, last)
}
