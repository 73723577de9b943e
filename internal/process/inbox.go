package process

import (
	"context"
	"errors"
	"time"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/ingress/intake"
	"holdfast/internal/config"
	"holdfast/internal/stores"
	"holdfast/workflows/runs"
)

// openInbox opens the inbox if a database is configured, which is optional for an ingress.
func (p *process) openInbox(ctx context.Context) error {
	if !p.cfg.Database.URL.IsSet() {
		if p.roles.has(RoleIngress) && p.cfg.Ingress.Ack == config.AckStored {
			return errors.New("HOLDFAST_INGRESS_ACK is stored, but no database is configured: set " +
				"DATABASE_URL=postgres://holdfast@db.internal:5432/holdfast, or HOLDFAST_INGRESS_ACK=either")
		}
		return nil
	}
	cfg := p.cfg
	cfg.Database.MaxConns = stores.InboxConns
	store, err := stores.OpenStore(ctx, cfg, p.telemetry)
	if err != nil {
		return err
	}
	p.inbox = store
	p.inboxDepth = intake.NewInboxDepth(store.Inbox.InboxDepth)
	p.onStop("inbox", func(context.Context) error { store.Close(); return nil })
	p.accepted = intake.NewAccepted(store.DeadLetters)
	p.onStop("accepted events", p.accepted.Close)
	return p.telemetry.ObserveInbox(p.countInbox)
}

// countInbox always has all lanes, so that a gauge falls to 0 instead of vanishing.
func (p *process) countInbox(ctx context.Context) (depth map[string]int64, age map[string]time.Duration, err error) {
	depths, err := p.inboxDepth.Read(ctx)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	depth, age = map[string]int64{}, map[string]time.Duration{}
	for _, lane := range event.Lanes() {
		depth[string(lane)], age[string(lane)] = depths[lane].Depth, depths[lane].Age(now)
	}
	return depth, age, nil
}

// startDrain starts events from the inbox, in every process that can.
func (p *process) startDrain() {
	if p.inbox == nil {
		return
	}
	p.drain = intake.NewDrain(p.inbox.Inbox, p.accepted.Starting(p.starter()), p.inbox.Duplicates, p.breaker,
		p.cfg.Ingress.StartTimeout)
	p.drain.Errors, p.drain.Duplicates = p.errors, p.duplicates
	go p.drain.Run()
}

// batchSize is the maximum number of events in a batch. Twice as many cost 5 % less each, but they lock their entities for
// longer, delay each event for the others in the same commit, and let more events queue up before their senders are blocked.
const batchSize = 100

// batchStore reports the batches' accepted events to the starter.
type batchStore struct {
	activities.BatchStore

	starter *intake.BulkStarter
}

func (s batchStore) ProcessBatch(
	ctx context.Context, limit int, run event.Run, parse event.Parser,
) ([]event.Batched, error) {
	events, err := s.BatchStore.ProcessBatch(ctx, limit, run, parse)
	if err == nil {
		s.starter.BatchEnded(events)
	}
	return events, err
}

// newBulkStarter returns the starter of the bulk lane's batches.
func (p *process) newBulkStarter() *intake.BulkStarter {
	batches := runs.NewBatches(p.temporal, p.cfg.Ingress.StartTimeout)
	batches.Eager = !p.cfg.Temporal.Versioned()
	return intake.NewBulkStarter(p.store.Inbox, batches, batchSize, p.cfg.Worker.SlotsBulk)
}
