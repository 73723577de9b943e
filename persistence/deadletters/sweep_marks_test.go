package deadletters_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/persistencetest"
)

// A mark replaces only the one that its sweep has seen:
//   - a retry finds its own
//   - after a setback, or on another server, none is left
func TestAMarkReplacesTheOneThatWasSeen(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	first, err := db.DeadLetters.SweepMark(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, first.Identity)
	require.Equal(t, operation.Mark{Identity: first.Identity}, first)
	for range 2 {
		left, ok, err := db.DeadLetters.LeaveSweepMark(t.Context(), first, 5)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, int64(5), left.Counter)
	}
	seen, err := db.DeadLetters.SweepMark(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(5), seen.Counter)
	require.WithinDuration(t, time.Now(), seen.At, time.Minute)

	_, ok, err := db.DeadLetters.LeaveSweepMark(t.Context(), first, 6)
	require.NoError(t, err)
	require.False(t, ok, "the mark isn't the seen one")
	_, ok, err = db.DeadLetters.LeaveSweepMark(t.Context(), operation.Mark{Counter: 5, Identity: "another"}, 6)
	require.NoError(t, err)
	require.False(t, ok, "the server isn't the seen one")
	again, err := db.DeadLetters.SweepMark(t.Context())
	require.NoError(t, err)
	require.Equal(t, seen, again)
}

// After a setback, dead letters that the automatic replay would run wait for an operator, except for processed events.
func TestOpenDeadLettersAreHeld(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	failed, lost, rejected, waiting := receipt(), receipt(), receipt(), receipt()
	of := func(r event.Receipt, change func(*event.DeadLetter)) {
		d := deadLetter(r)
		d.Failure.Class, d.Failure.Code = event.ClassFailed, "broken"
		change(&d)
		db.Record(d)
	}
	of(failed, func(*event.DeadLetter) {})
	of(lost, func(d *event.DeadLetter) { d.Failure.Code = operation.CodeLost })
	of(rejected, func(d *event.DeadLetter) { d.Failure.Class = event.ClassRejected })
	of(waiting, func(d *event.DeadLetter) { d.State = event.DeadLetterExhausted })
	require.Equal(t, event.DeadLetterExhausted, db.DeadLetterOf(waiting).State)

	policy := operation.AutomaticReplay{ReplayPolicy: operation.ReplayPolicy{
		Base: time.Hour, Attempts: 3, Classes: []event.Class{event.ClassFailed, event.ClassTransient},
	}}
	held, err := db.DeadLetters.HoldOpen(t.Context(), operation.AutomaticReplay{}, time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Zero(t, held, "no schedule would run any")
	held, err = db.DeadLetters.HoldOpen(t.Context(), policy, db.DeadLetterOf(failed).LastFailed)
	require.NoError(t, err)
	require.Zero(t, held, "it has failed since")
	held, err = db.DeadLetters.HoldOpen(t.Context(), policy, time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, int64(1), held)
	require.Equal(t, event.DeadLetterExhausted, db.DeadLetterOf(failed).State)
	require.Equal(t, event.DeadLetterOpen, db.DeadLetterOf(lost).State)
	require.Equal(t, event.DeadLetterOpen, db.DeadLetterOf(rejected).State)
}

// An event is gone if no table has it.
func TestEventsThatNoTableHasAreGone(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	processed, dead := receipt(), receipt()
	db.Process(processed, parsed())
	db.Record(deadLetter(dead))
	lost := uuid.Must(uuid.NewV7()).String()
	gone, err := db.DeadLetters.Gone(t.Context(), []string{processed.ID, dead.ID, lost, "malformed"})
	require.NoError(t, err)
	require.Equal(t, map[string]bool{lost: true}, gone)
}
