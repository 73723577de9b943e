package stores

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"holdfast/event/oversight"
	"holdfast/internal/config"
	"holdfast/persistence"
	"holdfast/workflows/runs"
)

// Statistics reads the database's and Temporal's statistics. Temporal's are left out while it doesn't answer.
type Statistics struct {
	store     *persistence.Store
	queues    runs.Queues
	schedules runs.Schedules
}

// NewStatistics returns Statistics of the given stores.
func NewStatistics(cfg config.Config, store *persistence.Store, temporal client.Client) Statistics {
	return Statistics{
		store: store, queues: runs.Queues{Client: temporal, Namespace: cfg.Temporal.Namespace},
		schedules: runs.Schedules{Client: temporal, IDs: ScheduleIDs(cfg)},
	}
}

// queuesTimeout bounds the queries for queues and schedules, so that other statistics are available while Temporal is down.
const queuesTimeout = 2 * time.Second

// Stats counts the events and errors of the window and the waiting deliveries, and reads the backlog of each task queue and the
// schedules' state.
func (s Statistics) Stats(ctx context.Context, window time.Duration) (oversight.Stats, error) {
	stats, err := s.store.Read.Stats(ctx, window)
	if err != nil {
		return oversight.Stats{}, err
	}
	deliveries, err := s.store.Outbox.DeliveryStats(ctx)
	if err != nil {
		return oversight.Stats{}, err
	}
	stats.Deliveries, stats.FailingDestinations = []oversight.DeliveryCount{}, deliveries.Failing
	for _, n := range deliveries.Open {
		stats.Deliveries = append(stats.Deliveries, oversight.DeliveryCount{Status: string(n.Status), Count: n.Count, Oldest: n.Oldest})
	}
	ctx, cancel := context.WithTimeout(ctx, queuesTimeout)
	defer cancel()
	var asking sync.WaitGroup
	asking.Go(func() {
		if queues, err := s.queues.Read(ctx); err == nil {
			stats.Queues = queues
		}
	})
	asking.Go(func() {
		if schedules, err := s.schedules.Read(ctx); err == nil {
			stats.Schedules = schedules
		}
	})
	asking.Wait()
	return stats, nil
}

// Attention counts what needs an operator. It is cheap.
func (s Statistics) Attention(ctx context.Context) (a oversight.Attention, err error) {
	if a.DeadLetters, err = s.store.DeadLetters.WaitingDeadLetters(ctx); err != nil {
		return a, err
	}
	a.FailingDestinations, err = s.store.Outbox.CountFailing(ctx)
	return a, err
}

// EventHistory counts the events of a provider by result. It doesn't need Temporal.
func (s Statistics) EventHistory(ctx context.Context, provider string, of oversight.Span) ([]oversight.EventBucket, error) {
	return s.store.Minutes.EventHistory(ctx, provider, of)
}

// DeliveryHistory counts the attempts at a destination. It doesn't need Temporal.
func (s Statistics) DeliveryHistory(
	ctx context.Context, destinationID int64, of oversight.Span,
) ([]oversight.DeliveryBucket, error) {
	return s.store.Minutes.DeliveryHistory(ctx, destinationID, of)
}

// DeliveryTotals counts the attempts at destinations, by ID. It doesn't need Temporal.
func (s Statistics) DeliveryTotals(
	ctx context.Context, destinations []int64, of oversight.Span,
) (map[int64]oversight.DeliveryBucket, error) {
	return s.store.Minutes.DeliveryTotals(ctx, destinations, of)
}

// Report counts the events of a period and what waits now. It doesn't need Temporal.
func (s Statistics) Report(ctx context.Context, since, until time.Time) (oversight.Report, error) {
	report, err := s.store.Read.Report(ctx, since, until)
	if err != nil {
		return report, err
	}
	now, err := s.store.Read.Stats(ctx, time.Minute)
	if err != nil {
		return report, err
	}
	deliveries, err := s.store.Outbox.DeliveryStats(ctx)
	if err != nil {
		return report, err
	}
	letters, inbox, open := backlog{Name: "dead letter"}, backlog{Name: "inbox event"}, backlog{Name: "delivery"}
	for _, n := range now.DeadLetters {
		letters.add(n.Count, &n.Oldest)
	}
	for _, n := range now.Inbox {
		inbox.add(n.Count, &n.Oldest)
	}
	for _, n := range deliveries.Open {
		open.add(n.Count, n.Oldest)
	}
	report.Waiting = []oversight.Backlog{oversight.Backlog(letters), oversight.Backlog(inbox), oversight.Backlog(open)}
	report.FailingDestinations = deliveries.Failing
	return report, nil
}

type backlog oversight.Backlog

func (b *backlog) add(n int64, oldest *time.Time) {
	if n == 0 {
		return
	}
	b.Count += n
	if oldest != nil && (b.Oldest == nil || oldest.Before(*b.Oldest)) {
		b.Oldest = oldest
	}
}
