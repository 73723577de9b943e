package process

import (
	"context"
	"sync"
	"time"

	"holdfast/internal/stores"
	"holdfast/workflows/runs"
)

const (
	// queuesAge is how long the sizes of task queues are cached.
	queuesAge = 15 * time.Second
	// readTimeout bounds a background read.
	readTimeout = 10 * time.Second
)

// observeQueues exports the sizes of the task queues from processes with workers, which exist wherever events are processed.
func (p *process) observeQueues() error {
	read := recently(queuesAge, runs.Queues{Client: p.temporal, Namespace: p.cfg.Temporal.Namespace}.Read)
	return p.telemetry.ObserveQueues(func(context.Context) (map[string]int64, map[string]time.Duration, error) {
		backlog, age := map[string]int64{}, map[string]time.Duration{}
		queues, err := read()
		for _, q := range queues {
			backlog[q.Queue], age[q.Queue] = q.Backlog, time.Duration(q.Age)
		}
		return backlog, age, err
	})
}

// schedulesAge is how long the schedules' state is cached: each read queries the schedule's workflow.
const schedulesAge = time.Minute

// observeSchedules exports which schedules are failing, from processes with workers.
func (p *process) observeSchedules() error {
	read := recently(schedulesAge, runs.Schedules{Client: p.temporal, IDs: stores.ScheduleIDs(p.cfg)}.Read)
	return p.telemetry.ObserveSchedules(func(context.Context) (map[string]bool, error) {
		failing := map[string]bool{}
		schedules, err := read()
		for _, s := range schedules {
			failing[s.ID] = s.Trouble != ""
		}
		return failing, err
	})
}

// recently returns the last value and refreshes an old one in the background, because collecting metrics must not wait.
func recently[T any](age time.Duration, read func(context.Context) (T, error)) func() (T, error) {
	var mu sync.Mutex
	var at time.Time
	var last T
	var failed error
	refresh := func() {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		stats, err := read(ctx)
		mu.Lock()
		defer mu.Unlock()
		last, failed = stats, err
	}
	return func() (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if at.IsZero() || time.Since(at) >= age {
			at = time.Now() // the start of the new read
			go refresh()
		}
		return last, failed
	}
}
