package errorlog

import (
	"context"
	"sync"
	"time"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/postgres"
)

// Limits of an ErrorRecorder.
const (
	flushEvery = time.Second
	// groupWindow is how long equal errors share their limit of rows.
	groupWindow = time.Minute
	// rowsPerGroup is how many errors of a group and window get their own row; the others share one more.
	rowsPerGroup = 10
	// maxGroups bounds the groups of a window, and so, with rowsPerGroup, the memory used while the database is unavailable.
	maxGroups    = 500
	flushTimeout = 5 * time.Second
)

// ErrorRecorder writes the error log in the background: Record never waits, never fails, and costs a lock and a copy. A storm of
// equal errors becomes a few rows and a count. Errors that can't be written in time, or belong to too many groups, are dropped
// and counted.
type ErrorRecorder struct {
	*postgres.Flusher

	write func(context.Context, []oversight.ErrorEntry) error

	mu      sync.Mutex
	pending []oversight.ErrorEntry
	groups  map[errorGroup]*groupState
	dropped int64
}

type errorGroup struct {
	phase    event.Phase
	provider string
	class    event.Class
	code     string
}

// groupState counts a group's errors in a window.
type groupState struct {
	since time.Time
	rows  int
	// rest stands for the errors beyond the limit: the last of them, with their number.
	rest oversight.ErrorEntry
}

// NewErrorRecorder starts a recorder; Stop writes what is left and ends it.
func (s *Store) NewErrorRecorder() *ErrorRecorder {
	r := newErrorRecorder(s.LogErrors)
	go r.Run(flushEvery, r.due)
	return r
}

func newErrorRecorder(write func(context.Context, []oversight.ErrorEntry) error) *ErrorRecorder {
	return &ErrorRecorder{Flusher: postgres.NewFlusher(), write: write, groups: map[errorGroup]*groupState{}}
}

// Record queues an entry, to be written within seconds. If it has no time it gets the current one.
func (r *ErrorRecorder) Record(e oversight.ErrorEntry) {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	e.Count = max(e.Count, 1)
	key := errorGroup{e.Phase, e.Provider, e.Class, e.Code}
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.groups[key]
	switch {
	case g == nil && len(r.groups) >= maxGroups:
		r.dropped++
	case g == nil:
		r.groups[key] = &groupState{since: e.At, rows: 1}
		r.pending = append(r.pending, e)
	case g.rows < rowsPerGroup:
		g.rows++
		r.pending = append(r.pending, e)
	default:
		e.Count += g.rest.Count
		e.Alert = e.Alert || g.rest.Alert
		e.EventID = "" // the row stands for many
		g.rest = e
	}
}

// Dropped returns how many entries were lost since the start.
func (r *ErrorRecorder) Dropped() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// due flushes the groups whose window is over; at the end, all groups.
func (r *ErrorRecorder) due(now time.Time, isEnd bool) {
	if !isEnd {
		now = now.Add(-groupWindow)
	}
	r.flush(now)
}

// flush writes what is pending, and the rest of each group whose window began at ended or before. Entries that can't be written
// are tried again with the next flush. Their groups are kept, so that the limits of Record apply to them as well.
func (r *ErrorRecorder) flush(ended time.Time) {
	batch := r.take(ended)
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if r.write(ctx, batch) == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if over := len(r.pending) + len(batch) - maxGroups*rowsPerGroup; over > 0 {
		over = min(over, len(batch))
		r.dropped += int64(over)
		batch = batch[over:]
	}
	r.pending = append(batch, r.pending...)
}

func (r *ErrorRecorder) take(ended time.Time) []oversight.ErrorEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, g := range r.groups {
		if g.since.After(ended) {
			continue
		}
		if g.rest.Count > 0 {
			r.pending = append(r.pending, g.rest)
		}
		delete(r.groups, key)
	}
	batch := r.pending
	r.pending = nil
	return batch
}
