package doctor

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"holdfast/event/oversight"
	"holdfast/internal/config"
	"holdfast/persistence"
)

// examineEvery is the least time between two examinations of a Watch.
const examineEvery = 10 * time.Second

// Watch examines an installation from inside a process, with the process's connections, and only on demand. It starts no run,
// and checks neither definitions nor the host.
type Watch struct {
	cfg      config.Config
	store    *persistence.Store
	temporal client.Client

	mu      sync.Mutex
	last    oversight.Examination
	running chan struct{} // is closed when the current examination has ended; nil if there is none
}

// NewWatch returns a Watch without results.
func NewWatch(cfg config.Config, store *persistence.Store, temporal client.Client) *Watch {
	return &Watch{cfg: cfg, store: store, temporal: temporal}
}

// Last returns the last result. If it is old, Last starts the next examination, and waits for the first one until ctx ends.
func (w *Watch) Last(ctx context.Context) oversight.Examination {
	w.mu.Lock()
	if w.running == nil && time.Since(w.last.At) > examineEvery {
		w.running = make(chan struct{})
		go w.examine() //nolint:gosec // it belongs to no request
	}
	last, running := w.last, w.running
	w.mu.Unlock()
	if !last.At.IsZero() || running == nil {
		return last
	}
	select {
	case <-running:
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// examine isn't bound to a request: the next caller gets its result.
func (w *Watch) examine() {
	d := &doctor{cfg: w.cfg, store: w.store, temporal: w.temporal}
	ctx, cancel := context.WithTimeout(context.Background(), 6*doctorTimeout)
	defer cancel()
	d.examineDatabase(ctx)
	d.watchTemporal(ctx)
	d.reportSkipped()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = after(w.last, d.findings, time.Now())
	close(w.running)
	w.running = nil
}

// after combines new findings with the times of the previous ones.
func after(before oversight.Examination, findings []oversight.Finding, now time.Time) oversight.Examination {
	type key struct {
		check  string
		result oversight.CheckResult
	}
	since := map[key]time.Time{}
	for _, s := range before.Findings {
		since[key{s.Check, s.Result}] = s.Since
	}
	next := oversight.Examination{At: now}
	for _, f := range findings {
		at, ok := since[key{f.Check, f.Result}]
		if !ok {
			at = now
		}
		next.Findings = append(next.Findings, oversight.SeenFinding{Finding: f, Since: at})
	}
	return next
}
