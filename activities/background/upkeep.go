package background

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"holdfast/activities"
	"holdfast/event/oversight"
	"holdfast/event/retention"
)

// Upkeep are the activities that belong to no event: they remove expired rows, and notify operators of failures. Histories
// contain the names of its methods.
type Upkeep struct {
	Retention RetentionStore
	// Keep is how long each kind of row is kept.
	Keep retention.Times
	// Runs returns how long runs are kept: events stay longer.
	Runs     RunRetention
	Alerts   AlertStore
	Notifier Notifier
	Reports  ReportStore
	// ReportPeriod is the period of reports, a day or a week; 0 disables them.
	ReportPeriod time.Duration
	// From names the installation in messages.
	From string
}

// RetentionStore removes expired rows.
type RetentionStore interface {
	// PurgeBatch removes some rows of a kind from before a time; 0 means that none is left.
	PurgeBatch(ctx context.Context, kind retention.Kind, before time.Time) (int64, error)
}

// RunRetention is how long Temporal's namespace keeps closed runs.
type RunRetention interface {
	// Retention returns how long an ended run can be reset.
	Retention(ctx context.Context) (time.Duration, error)
}

// AlertStore stores alerts until they are sent.
type AlertStore interface {
	// ClaimAlerts claims them: they count as sent from then on.
	ClaimAlerts(ctx context.Context) (claim int64, alerts []oversight.Alert, err error)
	// SettleAlerts ends a claim. If no channel accepted the message, the next claim has the same alerts.
	SettleAlerts(ctx context.Context, claim int64, alerts []oversight.Alert, sent bool) error
}

// Notifier sends messages to operators. sent is how many channels accepted the message; the error joins the others' errors.
type Notifier interface {
	Enabled() bool
	Send(ctx context.Context, text string) (sent int, err error)
}

// purgeDuration bounds one execution, so that a purge of millions takes many executions, each of which reports progress.
const purgeDuration = time.Minute

// maxPurgePause keeps the pause shorter than the heartbeat timeout.
const maxPurgePause = 2 * time.Second

// PurgePage is the progress of one execution.
type PurgePage struct {
	Removed int64 `json:"removed"`
	Drained bool  `json:"drained"`
}

// PurgeExpired removes expired rows batch by batch. After each batch it pauses for as long as the batch took, so that it never
// uses more than half of one connection and leaves the rest to the events.
func (u *Upkeep) PurgeExpired(ctx context.Context, kind retention.Kind) (page PurgePage, err error) {
	keep, err := u.keep(ctx, kind)
	if err != nil {
		return page, err
	}
	before, ok := keep.Until(kind, time.Now())
	if !ok {
		return PurgePage{Drained: true}, nil
	}
	end := time.Now().Add(purgeDuration)
	for time.Now().Before(end) {
		activity.RecordHeartbeat(ctx, page.Removed)
		begin := time.Now()
		n, err := u.Retention.PurgeBatch(ctx, kind, before)
		if err != nil {
			return page, err
		}
		page.Removed += n
		if n == 0 {
			page.Drained = true
			return page, nil
		}
		if err := activities.Pause(ctx, min(time.Since(begin), maxPurgePause)); err != nil {
			return page, err
		}
	}
	return page, nil
}

// keep is Keep, except that events outlast their runs.
func (u *Upkeep) keep(ctx context.Context, kind retention.Kind) (retention.Times, error) {
	if kind != retention.Events || u.Keep[kind] == 0 {
		return u.Keep, nil
	}
	ofRuns, err := u.Runs.Retention(ctx)
	return u.Keep.OutlastingRuns(ofRuns), err
}
