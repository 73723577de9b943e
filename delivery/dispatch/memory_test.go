package dispatch

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
)

// memory is an in-memory queue that can produce rare interleavings and faults. Like the real one it leases due deliveries, and
// accepts an outcome only from the holder of the lease or if the attempt succeeded.
type memory struct {
	mu      sync.Mutex
	waiting []delivery.Job
	due     map[delivery.Key]time.Time
	leased  map[delivery.Key]delivery.Job
	ended   map[delivery.Key]delivery.Outcome
	settled []delivery.Outcome
	targets map[int64]delivery.Target
	changed chan struct{}
	wakes   chan struct{}

	// Each is asked before the call does anything; nil is no fault.
	settleFault  func([]delivery.Outcome) error
	messageFault func() error
	gone         map[string]bool
	body         int           // the size of each, at most that of body; 0 is that
	lease        time.Duration // of each; 0 is a minute
}

func newMemory(jobs ...delivery.Job) *memory {
	return &memory{
		waiting: jobs, due: map[delivery.Key]time.Time{}, leased: map[delivery.Key]delivery.Job{},
		ended: map[delivery.Key]delivery.Outcome{}, targets: map[int64]delivery.Target{}, gone: map[string]bool{},
		changed: make(chan struct{}, 1000), wakes: make(chan struct{}, 1),
	}
}

func (m *memory) Lease(_ context.Context, want delivery.LeaseRequest) (jobs []delivery.Job, next time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rooms := m.roomsOf(want)
	var rest []delivery.Job
	for _, j := range m.waiting {
		if len(jobs) >= want.Limit || m.due[j.Key].After(time.Now()) || rooms[j.DestinationID] <= 0 {
			rest = append(rest, j)
			continue
		}
		rooms[j.DestinationID]--
		j.LeasedUntil = time.Now().Add(cmp.Or(m.lease, time.Minute))
		m.leased[j.Key] = j
		jobs = append(jobs, j)
	}
	m.waiting = rest
	return jobs, time.Now().Add(10 * time.Millisecond), nil
}

// roomsOf asks for the room of all that is due.
func (m *memory) roomsOf(want delivery.LeaseRequest) map[int64]int {
	var ids []int64
	for _, j := range m.waiting {
		if id := j.DestinationID; !m.due[j.Key].After(time.Now()) && !slices.Contains(ids, id) &&
			!slices.Contains(want.Without, id) && (want.Only == nil || slices.Contains(want.Only, id)) {
			ids = append(ids, id)
		}
	}
	rooms := map[int64]int{}
	for i, capacity := range want.Room(ids) {
		rooms[ids[i]] = capacity
	}
	return rooms
}

func (m *memory) Messages(_ context.Context, ids []string, maxBytes int) (map[string]delivery.Message, int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.messageFault != nil {
		if err := m.messageFault(); err != nil {
			return nil, 0, err
		}
	}
	found := map[string]delivery.Message{}
	read := 0
	for _, id := range ids {
		if read > 0 && (read+1)*len(body) > maxBytes {
			break
		}
		read++
		if !m.gone[id] {
			found[id] = delivery.Message{Receipt: event.Receipt{ID: id, Provider: "stripe"}, Body: body[:cmp.Or(m.body, len(body))]}
		}
	}
	return found, read, nil
}

// body is the size of each event's body: a page holds eight.
var body = make([]byte, 1<<20)

func (m *memory) Targets(_ context.Context, ids []int64) (map[int64]delivery.Target, map[int64]error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	failed := map[int64]error{}
	for _, id := range ids {
		if _, ok := m.targets[id]; !ok {
			failed[id] = event.ErrNotFound
		}
	}
	return maps.Clone(m.targets), failed
}

func (m *memory) Settle(_ context.Context, all []delivery.Outcome) ([]delivery.Transition, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.settleFault != nil {
		if err := m.settleFault(all); err != nil {
			return nil, err
		}
	}
	for _, s := range all {
		if _, ok := m.leased[s.Key]; !ok {
			continue
		}
		delete(m.leased, s.Key)
		m.settled = append(m.settled, s)
		if s.Kind == delivery.OK || s.Dead {
			m.ended[s.Key] = s
			continue
		}
		if s.Kind == delivery.Bad || s.Kind == delivery.Slow {
			s.Attempts++
		}
		m.due[s.Key] = s.DueAt
		m.waiting = append(m.waiting, s.Job)
	}
	m.changed <- struct{}{}
	return nil, nil
}

func (m *memory) Wakes() <-chan struct{} { return m.wakes }

// until waits for a condition on the queue.
func (m *memory) until(is func() bool) {
	for {
		m.mu.Lock()
		ok := is()
		m.mu.Unlock()
		if ok {
			return
		}
		<-m.changed
	}
}

// sends is a sender that a test scripts.
type sends func(context.Context, delivery.Target, delivery.Job, delivery.Message) delivery.Result

func (s sends) Send(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) delivery.Result {
	return s(ctx, t, j, m)
}

// told records alerts.
type told struct {
	mu      sync.Mutex
	entries []oversight.ErrorEntry
}

func (o *told) Record(e oversight.ErrorEntry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.entries = append(o.entries, e)
}
