package event

import (
	"context"
	"log/slog"
	"time"
)

// ErrorLogger writes a line of the log: a workflow's logger does, and ContextLogger.
type ErrorLogger interface {
	Error(message string, fields ...any)
}

// ContextLogger is slog's default logger with a context, which has the trace.
type ContextLogger struct{ Context context.Context }

// Error writes a line at the level of errors.
func (l ContextLogger) Error(message string, fields ...any) {
	slog.ErrorContext(l.Context, message, fields...) //nolint:sloglint // the message is LogDeadLetter's
}

// LogDeadLetter logs that an event has become a dead letter, so long after its receipt.
func LogDeadLetter(log ErrorLogger, r Receipt, f Failure, took time.Duration) {
	log.Error("event.dead_lettered",
		"event_id", r.ID, "provider", r.Provider, "event_type", r.Type, "outcome", "dead",
		"step", string(f.Step), "error_class", string(f.Class), "error_code", f.Code, "error", f.Message,
		"attempts", f.Attempts, "request_id", r.RequestID, "correlation_id", r.CorrelationID, "duration_ms", took.Milliseconds())
}
