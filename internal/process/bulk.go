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

// pumped shows the pump what its batches have taken.
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
