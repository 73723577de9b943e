package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast/event/operation"
	"holdfast/internal/word"
	"holdfast/workflows/runs"
)

// examinedRuns is how many open runs are checked, oldest first.
const examinedRuns = 100

// examineRuns looks for acknowledged events that no worker stores: their runs have been open for long.
func (d *doctor) examineRuns(ctx context.Context) {
	if d.store == nil {
		return
	}
	now := time.Now()
	reader := runs.NewReader(d.temporal, d.cfg.PayloadCodec().DataConverter())
	open, total, err := reader.OpenRuns(ctx, now.Add(-waitingWarn), examinedRuns)
	if err != nil {
		d.failed(checkRuns, err, "allow this client to list, count and describe workflows")
		return
	}
	var ids []string
	for _, run := range open {
		if run.EventID != "" {
			ids = append(ids, run.EventID)
		}
	}
	stored, err := d.store.DeadLetters.StoredEvents(ctx, ids)
	if err != nil {
		d.failed(checkRuns, err, "run `holdfast migrate`")
		return
	}
	d.reportRuns(operation.CountStuck(open, stored, total), now, func(run operation.OpenRun) string {
		progress, err := reader.Progress(ctx, run.Run)
		if err != nil {
			return "" // the advice shows where to look
		}
		return progress.Wait(run.Run.WorkflowID, now).Reason
	})
}

const checkRuns = "open runs"

// reportRuns reports runs that have been open for too long to be explained by load. A stored event that is retried isn't a
// failure: its retry policy ends it. reasonOf says what a run waits for.
func (d *doctor) reportRuns(
	stuck map[operation.Stuck]operation.StuckRuns, now time.Time, reasonOf func(operation.OpenRun) string,
) {
	var oldest operation.OpenRun
	var advice string
	var parts []string
	for _, kind := range []struct {
		reason       operation.Stuck
		text, advice string
	}{
		{operation.StuckTask, "whose workflow task fails",
			"`temporal workflow describe --workflow-id %s` shows the failure: start workers with code, and payload keys, " +
				"that can process it"},
		{operation.StuckUnstored, "not stored", "`holdfast event show %s` says what it waits for, and what to do"},
		{operation.StuckSlow, "stored and being retried", ""},
		{operation.StuckUnexamined, "not examined", ""},
	} {
		found := stuck[kind.reason]
		if found.Count == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%d %s", found.Count, kind.text))
		if kind.advice != "" && (advice == "" || found.Oldest.StartedAt.Before(oldest.StartedAt)) {
			oldest, advice = found.Oldest, fmt.Sprintf(kind.advice, found.Oldest.Run.WorkflowID)
		}
	}
	detail := "none has been open for more than " + word.Duration(waitingWarn)
	if len(parts) > 0 {
		detail = fmt.Sprintf("open for more than %s: %s", word.Duration(waitingWarn), strings.Join(parts, ", "))
	}
	if advice == "" {
		if slow := stuck[operation.StuckSlow]; slow.Count > 0 {
			detail += withReason("; the oldest is "+slow.Oldest.Run.WorkflowID, reasonOf(slow.Oldest))
		}
		d.add(checkRuns, resultOK, detail, "")
		return
	}
	age := now.Sub(oldest.StartedAt)
	detail = fmt.Sprintf("%s; the oldest event that needs attention has waited for %s: %s", detail, word.Age(age),
		oldest.Run.WorkflowID)
	d.add(checkRuns, above(age, waitingWarn, waitingFail), withReason(detail, reasonOf(oldest)), advice)
}

func withReason(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ", " + reason
}
