package process

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"holdfast/delivery"
	"holdfast/delivery/dispatch"
	"holdfast/delivery/handoff"
	"holdfast/delivery/queue"
	"holdfast/delivery/webhook"
	"holdfast/internal/buildinfo"
	"holdfast/internal/stores"
	"holdfast/internal/telemetry"
)

// How often each delivering process does work that belongs to no single delivery.
const (
	rearmEvery  = 5 * time.Second
	fanOutEvery = time.Second
	watchEvery  = 30 * time.Second
	// sortEvery only matters if signals are lost: the process that queues ordered deliveries signals, and so does "fan out".
	sortEvery     = time.Minute
	headlessEvery = 10 * time.Minute
	sweepEvery    = time.Minute
	weeksEvery    = time.Hour
	// swept is the maximum of one batch of a sweep: a full batch means that there may be more.
	swept = 500
)

// failingAfter is how long a destination is failing before its workflow for notifications starts, and maxWatchStarts how many
// start at a time.
const (
	failingAfter   = 2 * time.Minute
	maxWatchStarts = 20
)

// startDispatcher delivers in every process with workers. It needs only the database: deliveries continue without Temporal.
func (p *process) startDispatcher() error {
	cfg := p.cfg.Deliveries
	if cfg.Slots == 0 {
		return nil
	}
	network := webhook.SenderOptions{
		AllowedNetworks: cfg.AllowedNetworks, Certificates: cfg.Certificates, Routes: p.routes, Version: buildinfo.Read().Version,
	}
	http, queues := webhook.NewSender(network), queue.NewSender(webhook.NewNetwork(network))
	temporal := handoff.NewSender(handoff.Options{
		Client: p.temporal, Namespace: p.cfg.Temporal.Namespace, ConfigFile: p.cfg.TemporalConfigFile(),
		Reserved: stores.Reserved(func() []string { return p.catalogue.Catalogue().Names() }),
		Logger:   telemetry.TemporalLogger(slog.Default()),
	})
	p.closeSenders = func() { http.Close(); temporal.Close(); queues.Close() }
	d, err := dispatch.New(dispatch.Options{
		Queue: p.store.QueueView(), HTTP: http, Temporal: temporal, Queues: queues, Slots: cfg.Slots,
		Errors: p.errors, Attempts: p.counts.attempts, Chores: p.deliveryChores(),
	})
	if err != nil {
		return err
	}
	if err := p.observeDeliveries(); err != nil {
		return err
	}
	p.dispatcher = d
	d.Start()
	p.store.Subscriptions.DeliverThrough(d)
	slog.Debug("dispatcher.started", "slots", cfg.Slots)
	return nil
}

func (p *process) stopDispatcher(ctx context.Context) error {
	if p.dispatcher == nil {
		return nil
	}
	defer p.closeSenders()
	return p.dispatcher.Stop(ctx, p.cfg.Deliveries.Grace)
}

func (p *process) deliveryChores() []dispatch.Chore {
	return []dispatch.Chore{
		{Name: "rearm", Every: rearmEvery, Do: func(ctx context.Context) (bool, error) { return false, p.store.Outbox.Rearm(ctx) }},
		{Name: "fan out", Every: fanOutEvery, Do: p.store.Subscriptions.FinishRouting},
		{Name: "order", Every: sortEvery, Wakes: p.store.Outbox.Sorts(), Do: p.store.Outbox.SortOrdered},
		{Name: "order repair", Every: headlessEvery, Do: p.store.Outbox.FreeHeadless},
		{Name: "expire", Every: sweepEvery, Do: untilDone(p.store.Outbox.ExpireDeliveries)},
		{Name: "cancel deleted", Every: sweepEvery, Do: untilDone(p.store.Outbox.CancelDeleted)},
		{Name: "partitions", Every: weeksEvery, Do: func(ctx context.Context) (bool, error) {
			return false, p.store.Outbox.CreatePartitions(ctx)
		}},
		{Name: "failing destinations", Every: watchEvery, Do: p.watchFailing},
	}
}

func untilDone(piece func(context.Context) (int64, error)) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		n, err := piece(ctx)
		return n >= swept, err
	}
}

// watchFailing starts the workflow of each failing destination that has none, even if an operator has terminated it:
// without the workflow, operators aren't notified and the destination is never disabled. It begins with destinations that are
// new to this process, and continues with those that have waited the longest.
func (p *process) watchFailing(ctx context.Context) (more bool, err error) {
	failing, err := p.store.Subscriptions.Failing(ctx, failingAfter)
	if err != nil {
		return false, err
	}
	slices.SortStableFunc(failing, func(a, b delivery.Destination) int { return p.watched[a.ID].Compare(p.watched[b.ID]) })
	known := make(map[int64]time.Time, len(failing))
	for _, d := range failing {
		known[d.ID] = p.watched[d.ID]
	}
	p.watched = known
	starter := p.starter()
	for _, d := range failing[:min(len(failing), maxWatchStarts)] {
		p.watched[d.ID] = time.Now()
		if err := starter.WatchDestination(ctx, d.ID, d.Name); err != nil {
			return false, err
		}
	}
	return false, nil
}

// observeDeliveries exports the waiting deliveries as a metric. All delivering processes export the same values.
func (p *process) observeDeliveries() error {
	read := recently(queuesAge, p.store.Outbox.DeliveryStats)
	readOrder := recently(queuesAge, p.store.Outbox.OrderBacklog)
	return p.telemetry.ObserveDeliveries(func(context.Context) (telemetry.DeliveryFigures, error) {
		stats, err := read()
		f := telemetry.DeliveryFigures{
			Waiting: map[string]int64{}, Age: map[string]time.Duration{}, Breakers: map[string]int64{}, States: map[string]int64{},
			Failing: map[string]string{},
		}
		for _, open := range stats.Open {
			f.Waiting[string(open.Status)] = open.Count
			if open.Oldest != nil {
				f.Age[string(open.Status)] = time.Since(*open.Oldest)
			}
		}
		for name, breaker := range stats.FailingBreakers {
			f.Failing[name] = string(breaker)
		}
		for state, n := range stats.Breakers {
			f.Breakers[string(state)] = n
		}
		for state, n := range stats.States {
			f.States[string(state)] = n
		}
		if stats.OldestSecret != nil {
			age := time.Since(*stats.OldestSecret)
			f.OldestSecret = &age
		}
		order, failed := readOrder()
		f.OldestHead, f.OldestUnsorted = order.OldestHead, order.OldestUnsorted
		return f, errors.Join(err, failed)
	})
}
