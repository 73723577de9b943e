package telemetry

import (
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
)

// quietFor is how long errors of exporters are suppressed after one was logged: while a back end is down they occur every few
// seconds, which must not drown other log lines.
const quietFor = time.Minute

// LogErrors logs export errors, at most one per quietFor.
func LogErrors(logger *slog.Logger) {
	var mu sync.Mutex
	var last time.Time
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(last) >= quietFor {
			last = now
			logger.Warn("telemetry.failed", "error", err)
		}
	}))
}
