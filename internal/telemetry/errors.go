package telemetry

import (
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
)

// quietFor is how long errors of exporters stay unsaid after one was logged: a back end that is down fails every few
// seconds, and that must not drown what else is logged.
const quietFor = time.Minute

// LogErrors logs, now and then, that telemetry could not be exported.
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
