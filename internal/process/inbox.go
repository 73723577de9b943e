package process

import (
	"context"
	"time"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/intake"
	"holdfast/internal/installation"
	"holdfast/runs"
)

// openInbox gives the process its inbox wherever a database is configured, which for an ingress is a matter of choice.
func (p *process) openInbox(ctx context.Context) error {
	if !p.cfg.Database.URL.IsSet() {
		return nil
	}
	cfg := p.cfg
	cfg.Database.MaxConns = installation.InboxConns
	store, err := installation.OpenStore(ctx, cfg, p.telemetry)
	if err != nil {
		return err
	}
	p.inbox = store
	p.inboxDepth = intake.NewInboxDepth(store.Inbox.InboxDepth)
	p.onStop("inbox", func(context.Context) error { store.Close(); return nil })
	return p.telemetry.ObserveInbox(p.countInbox)
}

// countInbox has both lanes, so that a gauge falls to 0 and does not vanish.
func (p *process) countInbox(ctx context.Context) (depth map[string]int64, age map[string]time.Duration, err error) {
	depths, err := p.inboxDepth.Read(ctx)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	depth, age = map[string]int64{}, map[string]time.Duration{}
	for _, lane := range []event.Lane{event.LaneOverflow, event.LaneBulk} {
		depth[string(lane)], age[string(lane)] = depths[lane].Depth, depths[lane].Age(now)
	}
	return depth, age, nil
}

// startDrain starts what waits in the inbox, in every process that could.
func (p *process) startDrain() error {
	if p.inbox == nil {
		return nil
	}
	drain, err := intake.NewDrain(p.inbox.Inbox, p.starter(), p.inbox.Writer, p.breaker, p.cfg.Ingress.StartTimeout)
	if err != nil {
		return err
	}
	drain.Errors, drain.Duplicates = p.errors, p.duplicates
	p.drain = drain
	go drain.Run()
	return nil
}

// batchSize is how many events a batch takes at most. Twice as many cost a twentieth less each; but they hold the locks of their
// entities for longer, keep an event waiting for those that it shares the commit with, and let more of them queue up before their
// senders are held up.
const batchSize = 100

// batchStore shows the starter of batches what its batches have taken.
type batchStore struct {
	activities.BatchStore

	starter *intake.BulkStarter
}

func (s batchStore) ProcessBatch(
	ctx context.Context, limit int, run event.Run, parse event.Parser,
) ([]event.Batched, error) {
	events, err := s.BatchStore.ProcessBatch(ctx, limit, run, parse)
	if err == nil {
		s.starter.Took(events)
	}
	return events, err
}

// newBulkStarter makes what starts the batches of the bulk lane.
func (p *process) newBulkStarter() *intake.BulkStarter {
	batches := runs.NewBatches(p.temporal, p.cfg.Ingress.StartTimeout)
	batches.Eager = !p.cfg.Temporal.Versioned()
	return intake.NewBulkStarter(p.store.Writer, batches, batchSize, p.cfg.Worker.SlotsBulk)
}
