package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/event"
	"holdfast/internal/stores"
	"holdfast/internal/word"
	"holdfast/persistence"
	"holdfast/workflows"
)

// The time in the inbox that is a warning, in its lane bulk and elsewhere, and the time that is a failure. The alerts have the
// same bounds.
const (
	waitingWarn = time.Minute
	bulkWarn    = 5 * time.Minute
	waitingFail = 15 * time.Minute
)

func (d *doctor) examineInbox(ctx context.Context) {
	depths, err := d.store.Inbox.InboxDepth(ctx)
	if err != nil {
		d.failed("inbox", err, "run `holdfast migrate`")
		return
	}
	overflow := depths[event.LaneOverflow]
	age := overflow.Age(time.Now())
	d.add("inbox", above(age, waitingWarn, waitingFail),
		fmt.Sprintf("%s for Temporal, the oldest for %s", word.Count(overflow.Depth, "event waits", "events wait"),
			word.Age(age)),
		inboxAdvice)
	d.examineLane(depths, event.LaneBulk, bulkWarn)
	d.examineLane(depths, event.LaneLarge, waitingFail)
}

const inboxAdvice = "see that Temporal answers and an ingress or worker runs; `holdfast inbox list` says why each waits"

// examineLane reports another lane of the inbox if its events wait for too long.
func (d *doctor) examineLane(depths event.InboxDepth, lane event.Lane, warn time.Duration) {
	depth := depths[lane]
	age := depth.Age(time.Now())
	if result := above(age, warn, waitingFail); result != resultOK {
		d.add("inbox", result, fmt.Sprintf("%s in the lane %s, the oldest for %s",
			word.Count(depth.Depth, "event waits", "events wait"), lane, word.Age(age)), inboxAdvice)
	}
}

// unattendedFor is how long a dead letter may wait for an operator: automatic replay has ended by then, and other dead letters
// have been notified.
const unattendedFor = 24 * time.Hour

// examineDeadLetters reports exhausted and long waiting dead letters, which need an operator.
func (d *doctor) examineDeadLetters(ctx context.Context) {
	stats, err := d.store.Read.Stats(ctx, time.Minute)
	if err != nil {
		d.failed("dead letters", err, "run `holdfast migrate`")
		return
	}
	waiting, oldest := map[event.DeadLetterState]int64{}, stats.At
	for _, c := range stats.DeadLetters {
		waiting[c.State] += c.Count
		if c.State != event.DeadLetterReplaying && c.Oldest.Before(oldest) {
			oldest = c.Oldest
		}
	}
	age := stats.At.Sub(oldest)
	v := resultOK
	switch {
	case waiting[event.DeadLetterExhausted] > 0 || age > unattendedFor:
		v = resultFail
	case waiting[event.DeadLetterOpen] > 0:
		v = resultWarn
	}
	var counted []string
	for _, state := range event.DeadLetterStates() {
		if n := waiting[state]; n > 0 {
			counted = append(counted, fmt.Sprintf("%s %d", state, n))
		}
	}
	detail := "none"
	if len(counted) > 0 {
		detail = strings.Join(counted, ", ")
	}
	if age > 0 {
		detail += "; the oldest waits for " + word.Age(age)
	}
	d.add("dead letters", v, detail, "`holdfast dlq list` (--state exhausted) says why; correct the cause and run them again "+
		"(`holdfast dlq replay`), or discard them")
}

// unnotifiedFor is how long notifications of failures may normally wait.
const unnotifiedFor = 10 * time.Minute

// notifyResult is the result of the last round of notifications.
type notifyResult struct {
	// Failures counts the failures to notify; Channels, the channels that accepted the message.
	Failures int64  `json:"failures"`
	Channels int    `json:"channels"`
	Error    string `json:"error"`
}

func (d *doctor) examineNotifications(ctx context.Context, f persistence.Facts) {
	if !d.cfg.Notify.URLs.IsSet() {
		d.add("notifications", resultWarn, "notifications of failures and outages are off",
			"set HOLDFAST_NOTIFY_URLS=generic+https://alerts.internal/hook, or a URL of Slack, Telegram or e-mail, for the workers")
		return
	}
	if _, err := stores.NewNotifier(d.cfg); err != nil {
		d.add("notifications", resultFail, err.Error(),
			"correct it, such as HOLDFAST_NOTIFY_URLS=generic+https://alerts.internal/hook; see github.com/nicholas-fedor/shoutrrr")
		return
	}
	var last notifyResult
	if f.Untold > 0 {
		last = d.lastNotification(ctx)
	}
	d.reportNotifications(f, last)
}

// reportNotifications fails only for notifications that were tried. If a channel has just been configured, old failures wait
// for the next round.
func (d *doctor) reportNotifications(f persistence.Facts, last notifyResult) {
	detail := word.Count(f.Untold, "failure waits", "failures wait") + " to be reported"
	switch {
	case f.Untold > 0 && last.Failures > 0 && last.Channels == 0:
		d.add("notifications", resultFail, detail+"; the last try: "+last.Error,
			"no channel takes messages: correct the URLs, such as HOLDFAST_NOTIFY_URLS=generic+https://alerts.internal/hook, and "+
				"restart the workers")
	case f.Untold > 0 && f.Now.Sub(*f.UntoldSince) > unnotifiedFor+d.cfg.Notify.Interval:
		d.add("notifications", resultWarn, detail, fmt.Sprintf("a worker with the same HOLDFAST_NOTIFY_URLS as this command "+
			"reports them within %s; if this stays, give the workers that value", d.cfg.Notify.Interval))
	default:
		d.add("notifications", resultOK, detail, "")
	}
}

// lastNotification returns zero if no round has ended, or Temporal doesn't answer.
func (d *doctor) lastNotification(ctx context.Context) (last notifyResult) {
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	schedule, err := d.temporal.ScheduleClient().GetHandle(ctx, workflows.ScheduleNotify).Describe(ctx)
	if err != nil {
		return last
	}
	for _, action := range slices.Backward(schedule.Info.RecentActions) {
		started := action.StartWorkflowResult
		if started == nil || d.isOpen(ctx, started.WorkflowID, started.FirstExecutionRunID) {
			continue
		}
		run := d.temporal.GetWorkflow(ctx, started.WorkflowID, started.FirstExecutionRunID)
		_ = run.Get(ctx, &last) // a failed run has no result
		return last
	}
	return last
}

// isOpen also returns true for a run that can't be described, because waiting for its result would block.
func (d *doctor) isOpen(ctx context.Context, workflowID, runID string) bool {
	run, err := d.temporal.DescribeWorkflowExecution(ctx, workflowID, runID)
	return err != nil || run.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
}
