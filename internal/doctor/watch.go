package doctor

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"holdfast/internal/config"
	"holdfast/persistence"
)

// lookEvery is the least time between two examinations of a Watch.
const lookEvery = 10 * time.Second

// Watch examines an installation from inside a process, with the process's connections, and only on demand. It starts no run,
// and checks neither definitions nor the host.
type Watch struct {
	cfg      config.Config
	store    *persistence.Store
	temporal client.Client

	mu      sync.Mutex
	last    Look
	looking chan struct{} // is closed when the current examination has ended; nil if there is none
}

// Look is the result of a Watch's examination.
type Look struct {
	// At is its time; zero if none has ended yet.
	At       time.Time
	Findings []Seen
}

// Seen is a finding, and since when it has had the same result.
type Seen struct {
	Finding

	Since time.Time
}

// NewWatch returns a Watch without results.
func NewWatch(cfg config.Config, store *persistence.Store, temporal client.Client) *Watch {
	return &Watch{cfg: cfg, store: store, temporal: temporal}
}

// Last returns the last result. If it is old, Last starts the next examination, and waits for the first one until ctx ends.
func (w *Watch) Last(ctx context.Context) Look {
	w.mu.Lock()
	if w.looking == nil && time.Since(w.last.At) > lookEvery {
		w.looking = make(chan struct{})
		go w.look() //nolint:gosec // it belongs to no request
	}
	last, looking := w.last, w.looking
	w.mu.Unlock()
	if !last.At.IsZero() || looking == nil {
		return last
	}
	select {
	case <-looking:
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// look isn't bound to a request: the next caller gets its result.
func (w *Watch) look() {
	d := &doctor{cfg: w.cfg, store: w.store, temporal: w.temporal}
	ctx, cancel := context.WithTimeout(context.Background(), 6*doctorLimit)
	defer cancel()
	d.examineDatabase(ctx)
	d.watchTemporal(ctx)
	d.reportSkipped()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = after(w.last, d.findings, time.Now())
	close(w.looking)
	w.looking = nil
}

// after combines new findings with the times of the previous ones.
func after(before Look, findings []Finding, now time.Time) Look {
	type verdict struct {
		check   string
		verdict Verdict
	}
	since := map[verdict]time.Time{}
	for _, s := range before.Findings {
		since[verdict{s.Check, s.Verdict}] = s.Since
	}
	next := Look{At: now}
	for _, f := range findings {
		at, ok := since[verdict{f.Check, f.Verdict}]
		if !ok {
			at = now
		}
		next.Findings = append(next.Findings, Seen{f, at})
	}
	return next
}
