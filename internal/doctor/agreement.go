package doctor

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"holdfast/activities/reconcile"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/workflows"
	"holdfast/workflows/runs"
)

// compared is how many runs are compared with the database, and comparedTime the maximum time since their end.
const (
	compared     = 20
	comparedTime = time.Hour
)

// examineAgreement compares the most recently ended runs with the rows. A run ends after its transaction has committed, so a
// missing event was lost. Runs that were ended from outside are left to the sweep.
func (d *doctor) examineAgreement(ctx context.Context) {
	const check = "agreement"
	if d.store == nil {
		return
	}
	compare := reconcile.Service{Runs: runs.NewReader(d.temporal, d.cfg.PayloadCodec().DataConverter()), Events: d.store.DeadLetters}
	now := time.Now()
	page := operation.SweepPage{Since: now.Add(-comparedTime), Until: now, Restored: true, DryRun: true, Limit: compared}
	missing := 0
	_, err := compare.ClosedRuns(ctx, page, func(run operation.ClosedRun, letter *event.DeadLetter, _ error) {
		if letter != nil && (run.Status == "completed" || run.Status == "failed") {
			missing++
		}
	})
	if err != nil {
		d.reportError(check, resultSkip, err, "")
		return
	}
	detail := fmt.Sprintf("last %d runs checked: no events missing from the database", compared)
	if missing > 0 {
		detail = fmt.Sprintf("last %d runs checked: the database lacks the events of %d", compared, missing)
	}
	d.add(check, either(missing == 0, resultFail), detail,
		"was the database restored from a backup? Run `holdfast reconcile --since` with the time of the backup")
}

// unfinishedFor is the age from which unfinished events are checked, as in the sweep.
const unfinishedFor = 15 * time.Minute

// examineUnfinished looks for stored, unprocessed events without an open run: Temporal has lost their runs.
func (d *doctor) examineUnfinished(ctx context.Context) {
	const check = "unfinished events"
	if d.store == nil {
		return
	}
	compare := reconcile.Service{
		Runs: runs.NewReader(d.temporal, d.cfg.PayloadCodec().DataConverter()), Events: d.store.DeadLetters, Rows: d.store.DeadLetters,
	}
	page := operation.RowPage{
		After: event.FirstIDAt(time.Time{}), Before: event.FirstIDAt(time.Now().Add(-unfinishedFor)), Limit: compared,
		Ended: true, DryRun: true,
	}
	var lost []string
	var unread error
	_, err := compare.Unfinished(ctx, page, func(run operation.ClosedRun, letter *event.DeadLetter, err error) {
		if letter != nil {
			lost = append(lost, run.Run.WorkflowID)
		}
		unread = cmp.Or(unread, err)
	})
	if err = cmp.Or(err, unread); err != nil {
		d.warned(check, err, fmt.Sprintf("TEMPORAL_NAMESPACE is %s: give this command the workers' value, or allow it to describe "+
			"workflows", d.cfg.Temporal.Namespace))
		return
	}
	detail := "none of the oldest lacks an open run"
	if len(lost) > 0 {
		detail = fmt.Sprintf("%d of the oldest %d have no open run, such as %s", len(lost), compared, lost[0])
	}
	d.add(check, either(len(lost) == 0, resultFail), detail,
		"the next sweep makes them dead letters, which are then replayed; if this stays, see the schedule "+workflows.ScheduleSweep)
}
