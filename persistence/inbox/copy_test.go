package inbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence/persistencetest"
)

// The transaction that stores an event, or its dead letter, removes its copy. Copies of other events stay.
func TestACopyGoesWhenItsEventIsStored(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Copied(time.Hour)
	for name, keep := range map[string]func(event.Receipt) error{
		"process": func(r event.Receipt) error {
			_, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed(), runOf(r))
			return err
		},
		"persist": func(r event.Receipt) error {
			_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
			return err
		},
		"record dead letter": func(r event.Receipt) error { return db.DeadLetters.RecordDeadLetter(t.Context(), deadLetter(r)) },
	} {
		r := db.Copied(time.Hour)
		require.Equal(t, 2, db.Copies())
		require.NoError(t, keep(r), name)
		require.Equal(t, 1, db.Copies(), name)
		require.NoError(t, db.Inbox.NewInboxWriter().Copy(t.Context(), r, body, 0), name)
	}
}

// An event that was stored before its copy arrives gets none.
func TestAStoredEventGetsNoCopy(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	r := receipt()
	db.Process(r, parsed())
	require.NoError(t, db.Inbox.NewInboxWriter().Copy(t.Context(), r, body, 0))
	require.Zero(t, db.Copies())
}

// Neither does one that is a dead letter.
func TestADeadLetterGetsNoCopy(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	r, _ := db.Letter()
	require.NoError(t, db.Inbox.NewInboxWriter().Copy(t.Context(), r, body, 0))
	require.Zero(t, db.Copies())
}

// A duplicate leaves no copy behind.
func TestTheCopyOfADuplicateIsRemoved(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	first := receipt()
	db.Process(first, parsed())
	second := receipt()
	second.Key, second.Copied = first.Key, true
	require.NoError(t, db.Inbox.NewInboxWriter().Copy(t.Context(), second, body, time.Hour))
	require.Equal(t, 1, db.Copies())
	_, err := db.Writer.Write(t.Context(), event.WholeEvent, second, body, parsed(), anotherRun(second))
	require.NoError(t, err)
	require.Zero(t, db.Copies())
}

// Only a drain of copies sees them, and storing an event doesn't wait for one that has locked its copy.
func TestADrainOfCopiesBlocksNoOtherEvents(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	r := db.Copied(0)
	seen, err := db.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 10, nil)
	require.NoError(t, err)
	require.Zero(t, seen)
	seen, err = db.Inbox.DrainInbox(t.Context(), event.LaneCopy, 10,
		func(_ context.Context, rows []event.Waiting) []event.StartOutcome {
			require.Len(t, rows, 1)
			require.Equal(t, event.LaneCopy, rows[0].Lane)
			require.Equal(t, body, rows[0].Body)
			db.Process(r, parsed())
			return []event.StartOutcome{{Started: true}}
		})
	require.NoError(t, err)
	require.Equal(t, 1, seen)
	require.Zero(t, db.Copies())
}
