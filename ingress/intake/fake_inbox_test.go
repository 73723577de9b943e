package intake

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"holdfast/event"
	"holdfast/workflows/runs"
)

// fakeInbox stands in for the table where tests inject faults: rows by workflow ID, locked during settle and returned unchanged
// if settle doesn't finish.
type fakeInbox struct {
	mu     sync.Mutex
	rows   []event.Waiting
	locked map[string]bool
	// buried are the dead letters, by workflow ID.
	buried map[string]event.Failure
	// gone is called for each row that delays because it was started.
	gone func(event.Waiting)
	// refuse is the error of Copy.
	refuse error
	// statements counts the removals of late confirmed events.
	statements int
}

func newFakeInbox() *fakeInbox {
	return &fakeInbox{locked: map[string]bool{}, buried: map[string]event.Failure{}}
}

func (f *fakeInbox) Spool(_ context.Context, lane event.Lane, r event.Receipt, body []byte, rejectRedelivery bool) (bool, error) {
	return f.keep(event.Waiting{Lane: lane, Receipt: r, Body: body, RejectRedelivery: rejectRedelivery})
}

func (f *fakeInbox) SpoolLate(
	_ context.Context, r event.Receipt, body []byte, rejectRedelivery bool, delay time.Duration,
) (bool, error) {
	return f.keep(event.Waiting{
		Lane: event.LaneOverflow, Receipt: r, Body: body, RejectRedelivery: rejectRedelivery, DueAt: time.Now().Add(delay),
	})
}

func (f *fakeInbox) Copy(_ context.Context, r event.Receipt, body []byte, delay time.Duration) error {
	if f.refuse != nil {
		return f.refuse
	}
	_, err := f.keep(event.Waiting{Lane: event.LaneCopy, Receipt: r, Body: body, DueAt: time.Now().Add(delay)})
	return err
}

func (f *fakeInbox) KeepLarge(
	_ context.Context, r event.Receipt, body []byte, reject bool, delay time.Duration,
) (bool, error) {
	return f.keep(event.Waiting{
		Lane: event.LaneLarge, Receipt: r, Body: body, RejectRedelivery: reject, DueAt: time.Now().Add(delay),
	})
}

func (f *fakeInbox) keep(row event.Waiting) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.ContainsFunc(f.rows, func(w event.Waiting) bool { return w.Receipt.WorkflowID() == row.Receipt.WorkflowID() }) {
		return false, nil
	}
	f.rows = append(f.rows, row)
	return true, nil
}

func (f *fakeInbox) RemoveFromInbox(_ context.Context, workflowIDs, eventIDs []string) (providers []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.statements++
	f.rows = slices.DeleteFunc(f.rows, func(w event.Waiting) bool {
		id := w.Receipt.WorkflowID()
		at := slices.Index(workflowIDs, id)
		if at < 0 || eventIDs[at] != w.Receipt.ID || f.locked[id] {
			return false
		}
		if f.gone != nil {
			f.gone(w)
		}
		providers = append(providers, w.Receipt.Provider)
		return true
	})
	return providers, nil
}

func (f *fakeInbox) depth() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.rows)
}

// graves returns the dead letters, by workflow ID.
func (f *fakeInbox) graves() map[string]event.Failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.buried)
}

func (f *fakeInbox) DrainInbox(
	ctx context.Context, lane event.Lane, limit int, settle func(context.Context, []event.Waiting) []event.StartOutcome,
) (int, error) {
	claimed := f.claim(lane, limit)
	defer f.unlock(claimed)
	if len(claimed) == 0 {
		return 0, nil
	}
	settled := settle(ctx, claimed)
	if ctx.Err() != nil {
		return len(claimed), ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, row := range claimed {
		f.settle(row, settled[i])
	}
	return len(claimed), nil
}

func (f *fakeInbox) claim(lane event.Lane, limit int) (claimed []event.Waiting) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, row := range f.rows {
		id := row.Receipt.WorkflowID()
		if len(claimed) < limit && row.Lane == lane && !f.locked[id] && !row.DueAt.After(time.Now()) {
			f.locked[id] = true
			claimed = append(claimed, row)
		}
	}
	return claimed
}

func (f *fakeInbox) unlock(rows []event.Waiting) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, row := range rows {
		delete(f.locked, row.Receipt.WorkflowID())
	}
}

func (f *fakeInbox) settle(row event.Waiting, s event.StartOutcome) {
	at := slices.IndexFunc(f.rows, func(w event.Waiting) bool { return w.Receipt.WorkflowID() == row.Receipt.WorkflowID() })
	switch {
	case s.Started:
		if f.gone != nil {
			f.gone(row)
		}
		f.rows = slices.Delete(f.rows, at, at+1)
	case s.Dead != nil:
		f.buried[row.Receipt.WorkflowID()] = *s.Dead
		f.rows = slices.Delete(f.rows, at, at+1)
	case s.Error != "":
		f.rows[at].Attempts++
		f.rows[at].LastError, f.rows[at].DueAt = s.Error, time.Now().Add(s.Retry)
	}
}

// errInjected is the error that the decorators below inject.
var errInjected = errors.New("injected")

// faults choose, by a seed, how a call fails: before or after it was executed, late, or with a panic.
type faults struct {
	mu     sync.Mutex
	random *rand.Rand
	share  float64
	off    bool
}

func newFaults(seed uint64, share float64) *faults {
	return &faults{random: rand.New(rand.NewPCG(seed, seed)), share: share}
}

func (f *faults) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.off = true
}

// around executes call, unless the fault prevents it.
func (f *faults) around(call func() error) error {
	f.mu.Lock()
	hit, kind, delay := !f.off && f.random.Float64() < f.share, f.random.IntN(4), time.Duration(f.random.IntN(3000))*time.Millisecond
	f.mu.Unlock()
	if !hit {
		return call()
	}
	switch kind {
	case 0:
		return errInjected
	case 1:
		if err := call(); err != nil {
			return err
		}
		return errInjected
	case 2:
		elapse(delay)
		return call()
	default:
		panic(errInjected)
	}
}

// faultyInbox is a fakeInbox with failing calls. A DrainInbox that fails after it was executed is a commit whose answer was
// lost.
type faultyInbox struct {
	*fakeInbox
	faults *faults
}

func (f *faultyInbox) Spool(
	ctx context.Context, lane event.Lane, r event.Receipt, body []byte, rejectRedelivery bool,
) (stored bool, err error) {
	err = f.faults.around(func() (err error) {
		stored, err = f.fakeInbox.Spool(ctx, lane, r, body, rejectRedelivery)
		return err
	})
	return stored, err
}

func (f *faultyInbox) SpoolLate(
	ctx context.Context, r event.Receipt, body []byte, rejectRedelivery bool, delay time.Duration,
) (stored bool, err error) {
	err = f.faults.around(func() (err error) {
		stored, err = f.fakeInbox.SpoolLate(ctx, r, body, rejectRedelivery, delay)
		return err
	})
	return stored, err
}

func (f *faultyInbox) RemoveFromInbox(ctx context.Context, workflowIDs, eventIDs []string) (providers []string, err error) {
	err = f.faults.around(func() (err error) {
		providers, err = f.fakeInbox.RemoveFromInbox(ctx, workflowIDs, eventIDs)
		return err
	})
	return providers, err
}

func (f *faultyInbox) DrainInbox(
	ctx context.Context, lane event.Lane, limit int, settle func(context.Context, []event.Waiting) []event.StartOutcome,
) (n int, err error) {
	err = f.faults.around(func() (err error) {
		n, err = f.fakeInbox.DrainInbox(ctx, lane, limit, settle)
		return err
	})
	return n, err
}

// faultyStarter is a fakeStarter with failing starts.
type faultyStarter struct {
	*fakeStarter
	faults *faults
}

func (f *faultyStarter) Start(ctx context.Context, r event.Receipt, body []byte, rejectRedelivery bool) (s runs.Started, err error) {
	err = f.faults.around(func() (err error) {
		s, err = f.fakeStarter.Start(ctx, r, body, rejectRedelivery)
		return err
	})
	return s, err
}

// elapse lets time pass in a synctest bubble, where it takes no real time.
func elapse(d time.Duration) { <-time.After(d) }
