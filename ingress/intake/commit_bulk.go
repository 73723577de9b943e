package intake

import (
	"context"
	"time"

	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/workflows/runs"
)

// bulkTimeout is how long a commit to the bulk lane may take before the event is started as a workflow. It leaves most of a
// request's time to that.
const bulkTimeout = time.Second

// commitBulk commits an event to the bulk lane. If that fails, the event is committed like any other under an ID of its own:
// the first commit may have reached the inbox, and one ID must not be processed in two places. The shared key makes one of the
// two a duplicate. While the lane is behind, only the answer is delayed: the event is committed by then.
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
		return started, joinErrors(failed, err)
	}
	return started, nil
}
