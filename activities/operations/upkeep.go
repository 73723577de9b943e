package operations

import (
	"context"
	"time"

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
	PurgeBatch(ctx context.Context, kept retention.Kept, before time.Time) (int64, error)
}

// RunRetention is that of Temporal.
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

// Notifier sends messages to operators. sent is how many channels accepted the message, the error is that of the others.
type Notifier interface {
	Enabled() bool
	Send(ctx context.Context, text string) (sent int, err error)
}
