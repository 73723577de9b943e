package main

import (
	"context"
	"time"

	"holdfast/event"
	"holdfast/intake"
	"holdfast/persistence"
	"holdfast/runs"
)

// inboxConns is the pool of the inbox: two groups that are being written, one page that is drained, one look, and what is
// forgotten. It is a pool of its own, so that no step keeps an acknowledgement waiting.
const inboxConns = 5

// openInbox gives the process its inbox wherever a database is configured, which for an ingress is a matter of choice.
func (p *process) openInbox(ctx context.Context) error {
	if !p.cfg.Database.URL.IsSet() {
		return nil
	}
	cfg := p.cfg
	cfg.Database.MaxConns = inboxConns
	store, err := openStore(ctx, cfg, p.telemetry)
	if err != nil {
		return err
	}
	p.inbox = store
	p.inboxDepth = intake.NewInboxDepth(store.InboxDepth)
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

// batchSize is how many events a batch takes at most. Twice as many cost a twentieth less each; but they hold the locks of their
// entities for longer, keep an event waiting for those that it shares the commit with, and let more of them queue up before their
// senders are held up.
const batchSize = 100

// pumped tells the pump what its batches have taken.
type pumped struct {
	*persistence.Store

	pump *intake.BulkStarter
}

func (s pumped) ProcessBatch(
	ctx context.Context, limit int, run event.Run, parse event.Parser,
) ([]event.Batched, error) {
	events, err := s.Store.ProcessBatch(ctx, limit, run, parse)
	if err == nil {
		s.pump.Took(events)
	}
	return events, err
}

// newPump makes what starts the batches of the bulk lane.
func (p *process) newPump() *intake.BulkStarter {
	batches := runs.NewBatches(p.temporal, p.cfg.Ingress.StartTimeout)
	return intake.NewBulkStarter(p.store, batches, batchSize, p.cfg.Worker.SlotsBulk)
}

// spooler is nil where there is no inbox.
func (p *process) spooler() intake.Spooler {
	if p.inbox == nil {
		return nil
	}
	return p.inbox.NewInboxWriter()
}

// forgetter is nil where there is no inbox.
func (p *process) forgetter() intake.InboxRemover {
	if p.inbox == nil {
		return nil
	}
	return p.inbox
}

// conflicts is nil where there is no inbox.
func (p *process) conflicts() intake.ConflictBook {
	if p.inbox == nil {
		return nil
	}
	return p.inbox
}

// startDrain starts what waits in the inbox, in every process that could.
func (p *process) startDrain() error {
	if p.inbox == nil {
		return nil
	}
	drain, err := intake.NewDrain(p.inbox, p.starter(), p.conflicts(), p.gate, p.cfg.Ingress.StartTimeout)
	if err != nil {
		return err
	}
	drain.Errors = p.errors
	p.drain = drain
	go drain.Run()
	return nil
}
