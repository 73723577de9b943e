package persistence_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// copied returns an event with a copy in the inbox, to be looked at after delay.
func (d *database) copied(delay time.Duration) event.Receipt {
	d.t.Helper()
	r := receipt()
	r.Copied = true
	require.NoError(d.t, d.Inbox.NewInboxWriter().Copy(d.t.Context(), r, body, delay))
	return r
}

func (d *database) copies() int {
	return value[int](d, `SELECT count(*) FROM inbox WHERE lane = 'copy'`)
}

// The transaction that stores an event, or its dead letter, removes its copy. Copies of other events stay.
func TestACopyGoesWhenItsEventIsStored(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.copied(time.Hour)
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
		r := db.copied(time.Hour)
		require.Equal(t, 2, db.copies())
		require.NoError(t, keep(r), name)
		require.Equal(t, 1, db.copies(), name)
		require.NoError(t, db.Inbox.NewInboxWriter().Copy(t.Context(), r, body, 0), name)
	}
}

// An event that was stored before its copy arrives gets none.
func TestAStoredEventGetsNoCopy(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.process(r, parsed())
	require.NoError(t, db.Inbox.NewInboxWriter().Copy(t.Context(), r, body, 0))
	require.Zero(t, db.copies())
}

// Neither does one that is a dead letter.
func TestADeadLetterGetsNoCopy(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, _ := db.letter()
	require.NoError(t, db.Inbox.NewInboxWriter().Copy(t.Context(), r, body, 0))
	require.Zero(t, db.copies())
}

// A duplicate leaves no copy behind.
func TestTheCopyOfADuplicateIsRemoved(t *testing.T) {
	t.Parallel()
	db := open(t)
	first := receipt()
	db.process(first, parsed())
	second := receipt()
	second.Key, second.Copied = first.Key, true
	require.NoError(t, db.Inbox.NewInboxWriter().Copy(t.Context(), second, body, time.Hour))
	require.Equal(t, 1, db.copies())
	_, err := db.Writer.Write(t.Context(), event.WholeEvent, second, body, parsed(), anotherRun(second))
	require.NoError(t, err)
	require.Zero(t, db.copies())
}

// Only a drain of copies sees them, and storing an event doesn't wait for one that has locked its copy.
func TestADrainOfCopiesBlocksNoOtherEvents(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := db.copied(0)
	seen, err := db.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 10, nil)
	require.NoError(t, err)
	require.Zero(t, seen)
	seen, err = db.Inbox.DrainInbox(t.Context(), event.LaneCopy, 10,
		func(_ context.Context, rows []event.Waiting) []event.StartOutcome {
			require.Len(t, rows, 1)
			require.Equal(t, event.LaneCopy, rows[0].Lane)
			require.Equal(t, body, rows[0].Body)
			db.process(r, parsed())
			return []event.StartOutcome{{Started: true}}
		})
	require.NoError(t, err)
	require.Equal(t, 1, seen)
	require.Zero(t, db.copies())
}
