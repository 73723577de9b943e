package intake

import (
	"context"
	"time"

	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/runs"
)

// bulkTimeout is how long an event waits for the inbox until it is started as a workflow after all. It leaves most of a
// request's time to that.
const bulkTimeout = time.Second

// commitBulk commits an event to the bulk lane. Where that fails it takes the way of every other event, as an event of its own:
// it may be in the inbox all the same, and one ID must not be processed in two places. Its key makes one of them the duplicate.
// While the lane is late the answer waits, and nothing else does: the event is committed.
func (i *Intake) commitBulk(ctx context.Context, a arrival) (runs.Started, error) {
	limited, cancel := runs.WithTimeout(ctx, bulkTimeout)
	defer cancel()
	started, err := i.inbox.spool(limited, event.LaneBulk, a.Receipt, a.Body, a.Reject)
	if err == nil {
		i.BulkStarter.Wake()
		i.BulkStarter.Throttle(a.slowAt)
		return started, nil
	}
	a.Receipt.ID = uuid.Must(uuid.NewV7()).String()
	started, failed := i.commit(ctx, a)
	if failed != nil {
		return started, both(failed, err)
	}
	return started, nil
}
