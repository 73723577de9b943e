package operations

import (
	"context"
	"log/slog"
	"time"

	"holdfast/event/oversight"
)

// ReportStore counts the events of a period, and what is waiting at its end.
type ReportStore interface {
	Report(ctx context.Context, since, until time.Time) (oversight.Report, error)
}

// WriteReport counts what happened in the period that ends at until, and returns the message; "" if there is nothing to send.
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

// Told is the result of sending a message.
type Told struct {
	// Channels is how many channels accepted it.
	Channels int    `json:"channels"`
	Error    string `json:"error,omitempty"`
}

// TellReport sends a message once. It is not an error if no channel accepts it.
func (u *Upkeep) TellReport(ctx context.Context, text string) (told Told, err error) {
	var failed error
	told.Channels, failed = u.Notifier.Send(ctx, text)
	if failed != nil {
		told.Error = failed.Error()
		slog.WarnContext(ctx, "notification.failed", "error", told.Error)
	}
	return told, nil
}
