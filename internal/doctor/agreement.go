package doctor

import (
	"context"
	"fmt"
	"time"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/reconcile"
	"holdfast/runs"
)

// compared is how many runs are compared with the database, and comparedTime how long ago they have ended at most.
const (
	compared     = 20
	comparedTime = time.Hour
)

// examineAgreement compares the runs that have ended last with the rows. A run ends after its transaction has committed, so
// whatever is missing was lost. Runs that were ended from outside are the sweep's.
func (d *doctor) examineAgreement(ctx context.Context) {
	const check = "agreement"
	if d.store == nil {
		return
	}
	compare := reconcile.Service{Runs: runs.NewReader(d.temporal, d.cfg.PayloadCodec().DataConverter()), Events: d.store}
	now := time.Now()
	page := operation.SweepPage{Since: now.Add(-comparedTime), Until: now, Restored: true, DryRun: true, Limit: compared}
	missing := 0
	_, err := compare.ClosedRuns(ctx, page, func(run operation.ClosedRun, letter *event.DeadLetter, _ error) {
		if letter != nil && (run.Status == "completed" || run.Status == "failed") {
			missing++
		}
	})
	if err != nil {
		d.found(check, verdictSkip, err.Error(), "")
		return
	}
	d.found(check, either(missing == 0, verdictFail),
		fmt.Sprintf("of the last %d runs, at most, the database lacks the events of %d", compared, missing),
		"was the database restored from a backup? `holdfast reconcile --since` the moment of it")
}
