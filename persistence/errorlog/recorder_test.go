package errorlog

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
)

// writes records what a recorder writes, or refuses it.
type writes struct {
	entries []oversight.ErrorEntry
	err     error
}

func (w *writes) write(_ context.Context, batch []oversight.ErrorEntry) error {
	if w.err == nil {
		w.entries = append(w.entries, batch...)
	}
	return w.err
}

func (w *writes) total() (n int64) {
	for _, e := range w.entries {
		n += e.Count
	}
	return n
}

func transientError() oversight.ErrorEntry {
	return oversight.ErrorEntry{Phase: event.PhasePersist, Provider: "acme", Class: event.ClassTransient, Code: "connection_lost"}
}

// A storm of one error becomes a few rows, and one row for the others when the window is over.
func TestAStormIsAFewRowsAndACount(t *testing.T) {
	t.Parallel()
	w := &writes{}
	r := newErrorRecorder(w.write)
	for range 100_000 {
		r.Record(transientError())
	}
	r.flush(time.Now().Add(-groupWindow))
	require.Len(t, w.entries, rowsPerGroup, "the window goes on")
	r.flush(time.Now())
	require.Len(t, w.entries, rowsPerGroup+1)
	require.EqualValues(t, 100_000, w.total())
	require.EqualValues(t, 100_000-rowsPerGroup, w.entries[rowsPerGroup].Count)
	require.Zero(t, r.Dropped())
}

// While the database is unavailable memory stays bounded; what fits is written once it is back.
func TestAnOutageOfTheLogIsBounded(t *testing.T) {
	t.Parallel()
	w := &writes{err: errors.New("away")}
	r := newErrorRecorder(w.write)
	for hour := range 20 {
		for code := range 2 * maxGroups {
			for range 2 * rowsPerGroup {
				e := transientError()
				e.Code = fmt.Sprint(hour, code)
				r.Record(e)
			}
		}
		r.flush(time.Now())
	}
	require.LessOrEqual(t, len(r.pending), maxGroups*rowsPerGroup)
	require.Positive(t, r.Dropped())
	w.err = nil
	r.flush(time.Now())
	require.NotEmpty(t, w.entries)
	require.Empty(t, r.pending)
}

func TestAStopFlushesTheRest(t *testing.T) {
	t.Parallel()
	w := &writes{}
	r := newErrorRecorder(w.write)
	go r.Run(flushEvery, r.due)
	r.Record(transientError())
	require.NoError(t, r.Stop(t.Context()))
	require.EqualValues(t, 1, w.total())
	require.NoError(t, r.Stop(t.Context()), "twice is no mistake")
}
