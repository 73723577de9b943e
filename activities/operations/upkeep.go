package operations

import (
	"context"
	"time"

	"holdfast/event/oversight"
	"holdfast/event/retention"
)

// Upkeep are the activities that belong to no event: they remove what has been kept for long enough, and tell people what
// has failed. The names of its methods stand in histories.
type Upkeep struct {
	Retention RetentionStore
	// Keep says how long what is kept.
	Keep retention.Times
	// Runs says how long runs are kept: events stay longer.
	Runs     RunRetention
	Alerts   AlertStore
	Notifier Notifier
	Reports  ReportStore
	// ReportPeriod is what a report is about, a day or a week; 0: there is none.
	ReportPeriod time.Duration
	// From names the installation in messages.
	From string
}

// RetentionStore removes what is old.
type RetentionStore interface {
	// PurgeBatch removes some of what was kept since before a time; 0 means that nothing is left to remove.
	PurgeBatch(ctx context.Context, kept retention.Kept, before time.Time) (int64, error)
}

// RunRetention is that of Temporal.
type RunRetention interface {
	// Retention is how long a run that has ended can be reset.
	Retention(ctx context.Context) (time.Duration, error)
}

// AlertStore knows what nobody has been told of.
type AlertStore interface {
	// ClaimAlerts takes it: it counts as told from then on.
	ClaimAlerts(ctx context.Context) (claim int64, alerts []oversight.Alert, err error)
	// SettleAlerts ends a claim. If nobody was told, the next claim has the same alerts.
	SettleAlerts(ctx context.Context, claim int64, alerts []oversight.Alert, told bool) error
}

// Notifier tells people. told is how many channels took the message, the error is that of the others.
type Notifier interface {
	Enabled() bool
	Send(ctx context.Context, text string) (told int, err error)
}
