package process

import (
	"context"
	"sync"
	"time"

	"holdfast/internal/installation"
	"holdfast/runs"
)

const (
	// queuesAge is how long a look at the task queues is given again.
	queuesAge = 15 * time.Second
	// lookLimit bounds a look of which nobody waits for the end.
	lookLimit = 10 * time.Second
)

// observeQueues makes the sizes of the task queues a metric of the workers: they are there wherever events are processed.
func (p *process) observeQueues() error {
	look := recently(queuesAge, runs.Queues{Client: p.temporal, Namespace: p.cfg.Temporal.Namespace}.Read)
	return p.telemetry.ObserveQueues(func(context.Context) (map[string]int64, map[string]time.Duration, error) {
		backlog, age := map[string]int64{}, map[string]time.Duration{}
		queues, err := look()
		for _, q := range queues {
			backlog[q.Queue], age[q.Queue] = q.Backlog, time.Duration(q.Age)
		}
		return backlog, age, err
	})
}

// schedulesAge is how long a look at the schedules is given again: each asks the workflow behind a schedule.
const schedulesAge = time.Minute

// observeSchedules makes it a metric of the workers which schedules are in trouble.
func (p *process) observeSchedules() error {
	look := recently(schedulesAge, runs.Schedules{Client: p.temporal, IDs: installation.ScheduleIDs(p.cfg)}.Read)
	return p.telemetry.ObserveSchedules(func(context.Context) (map[string]bool, error) {
		troubled := map[string]bool{}
		schedules, err := look()
		for _, s := range schedules {
			troubled[s.ID] = s.Trouble != ""
		}
		return troubled, err
	})
}

// recently gives what was read last, and has it read anew once it is old: nobody waits for that, since whoever collects metrics
// has little time.
func recently[T any](age time.Duration, read func(context.Context) (T, error)) func() (T, error) {
	var mu sync.Mutex
	var at time.Time
	var last T
	var failed error
	refresh := func() {
		ctx, cancel := context.WithTimeout(context.Background(), lookLimit)
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
			at = time.Now() // of the look that begins now
			go refresh()
		}
		return last, failed
	}
}
