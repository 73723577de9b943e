package background

import (
	"context"
	"log/slog"
	"time"

	"holdfast/event/oversight"
)

// ReportStore counts the events of a period, and the events that wait at its end.
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

// Notification is the result of sending a message.
type Notification struct {
	// Channels is how many channels accepted it.
	Channels int    `json:"channels"`
	Error    string `json:"error,omitempty"`
}

// SendReport sends a message once. It is not an error if no channel accepts it.
func (u *Upkeep) SendReport(ctx context.Context, text string) (sent Notification, err error) {
	var failed error
	sent.Channels, failed = u.Notifier.Send(ctx, text)
	if failed != nil {
		sent.Error = failed.Error()
		slog.WarnContext(ctx, "notification.failed", "error", sent.Error)
	}
	return sent, nil
}
