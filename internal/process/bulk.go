package process

import (
	"context"

	"holdfast/event"
	"holdfast/intake"
	"holdfast/persistence"
	"holdfast/runs"
)

// batchSize is how many events a batch takes at most. Twice as many cost a twentieth less each; but they hold the locks of their
// entities for longer, keep an event waiting for those that it shares the commit with, and let more of them queue up before their
// senders are held up.
const batchSize = 100

// batchStore shows the starter of batches what its batches have taken.
type batchStore struct {
	*persistence.Store

	starter *intake.BulkStarter
}

func (s batchStore) ProcessBatch(
	ctx context.Context, limit int, run event.Run, parse event.Parser,
) ([]event.Batched, error) {
	events, err := s.Store.ProcessBatch(ctx, limit, run, parse)
	if err == nil {
		s.starter.Took(events)
	}
	return events, err
}

// newBulkStarter makes what starts the batches of the bulk lane.
func (p *process) newBulkStarter() *intake.BulkStarter {
	batches := runs.NewBatches(p.temporal, p.cfg.Ingress.StartTimeout)
	batches.Eager = !p.cfg.Temporal.Versioned()
	return intake.NewBulkStarter(p.store, batches, batchSize, p.cfg.Worker.SlotsBulk)
}
