package intake

import (
	"context"
	"maps"
	"sync"

	"holdfast/event"
	"holdfast/workflows/runs"
)

// fakeStarter stands in for Temporal where tests inject faults: it records what was started, by workflow ID.
type fakeStarter struct {
	mu      sync.Mutex
	started map[string]event.Receipt
	// processing makes earlier runs open ones; otherwise they have ended.
	processing bool
	// before runs before each start; its error is the start's.
	before func(event.Receipt) error
	// during gets the context of each start.
	during func(context.Context)
}

func newFakeStarter() *fakeStarter {
	return &fakeStarter{started: map[string]event.Receipt{}}
}

func (f *fakeStarter) Start(ctx context.Context, r event.Receipt, _ []byte, _ bool) (runs.Started, error) {
	if f.during != nil {
		f.during(ctx)
	}
	if f.before != nil {
		if err := f.before(r); err != nil {
			return runs.Started{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if earlier, ok := f.started[r.WorkflowID()]; ok && f.processing {
		return runs.Started{
			WorkflowID: r.WorkflowID(), EventID: earlier.ID, State: runs.StateProcessing, Fingerprint: earlier.Fingerprint,
			Conflict: r.ConflictWith(earlier.ID, earlier.Fingerprint),
		}, nil
	} else if ok {
		return runs.Started{
			WorkflowID: r.WorkflowID(), EventID: earlier.ID, State: runs.StateProcessed, Outcome: event.OutcomeProcessed,
			Fingerprint: earlier.Fingerprint, Conflict: r.ConflictWith(earlier.ID, earlier.Fingerprint),
		}, nil
	}
	f.started[r.WorkflowID()] = r
	return runs.Started{WorkflowID: r.WorkflowID(), EventID: r.ID, State: runs.StateAccepted, Fingerprint: r.Fingerprint}, nil
}

// all returns what was started, by workflow ID.
func (f *fakeStarter) all() map[string]event.Receipt {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.started)
}
