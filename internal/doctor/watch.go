package doctor

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"holdfast/internal/config"
	"holdfast/persistence"
)

// lookEvery is the least time between two looks of a Watch.
const lookEvery = 10 * time.Second

// Watch looks at an installation from inside a process, with what that has open, and only when somebody wants to know. It starts
// no run, and looks neither at definitions nor at the host.
type Watch struct {
	cfg      config.Config
	store    *persistence.Store
	temporal client.Client

	mu      sync.Mutex
	last    Look
	looking chan struct{} // is closed when the look that is under way has ended; nil if none is
}

// Look is what a Watch has found.
type Look struct {
	// At is when; zero if no look has ended yet.
	At       time.Time
	Findings []Seen
}

// Seen is a finding, and since when looks have come to its verdict.
type Seen struct {
	Finding

	Since time.Time
}

// NewWatch makes one that has not looked.
func NewWatch(cfg config.Config, store *persistence.Store, temporal client.Client) *Watch {
	return &Watch{cfg: cfg, store: store, temporal: temporal}
}

// Last is the last look. One that is old begins the next, which is waited for until ctx ends if it is the first.
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

// look belongs to nobody's request: whoever asks next has its result.
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

// after is the look that comes after another one.
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
