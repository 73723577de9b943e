package operations

import (
	"context"
	"log/slog"
	"time"

	"holdfast/event/oversight"
)

// ReportStore counts what a time has brought, and what waits at its end.
type ReportStore interface {
	Report(ctx context.Context, since, until time.Time) (oversight.Report, error)
}

// WriteReport counts what the period that ends then has brought, and gives the message; "" where nobody is to be told.
func (u *Upkeep) WriteReport(ctx context.Context, until time.Time) (string, error) {
	if u.ReportPeriod == 0 || !u.Notifier.Enabled() {
		return "", nil
	}
	report, err := u.Reports.Report(ctx, until.Add(-u.ReportPeriod), until)
	if err != nil {
		return "", err
	}
	return u.From + ": " + report.Text(), nil
}

// Told says what has become of a message.
type Told struct {
	// Channels is how many took it.
	Channels int    `json:"channels"`
	Error    string `json:"error,omitempty"`
}

// TellReport sends a message once. That no channel takes it is no error.
func (u *Upkeep) TellReport(ctx context.Context, text string) (told Told, err error) {
	var failed error
	told.Channels, failed = u.Notifier.Send(ctx, text)
	if failed != nil {
		told.Error = failed.Error()
		slog.WarnContext(ctx, "notification.failed", "error", told.Error)
	}
	return told, nil
}
