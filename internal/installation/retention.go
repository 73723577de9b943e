package installation

import (
	"time"

	"holdfast/event/retention"
	"holdfast/internal/config"
)

// Retention returns the configured retention times.
func Retention(cfg config.Config) retention.Times {
	return retention.Times{
		retention.Events:      cfg.Retention.Events,
		retention.DeadLetters: cfg.Retention.DeadLetters,
		retention.Errors:      cfg.Retention.ErrorLog,
		retention.Audit:       cfg.Retention.AuditLog,
		retention.Changes:     cfg.Retention.Changes,
	}
}

// RetentionOfEvents returns the configured retention of events, 0 for unlimited, and the effective one, given Temporal's
// retention of runs.
func RetentionOfEvents(cfg config.Config, ofRuns time.Duration) (configured, effective time.Duration) {
	keep := Retention(cfg)
	return keep[retention.Events], keep.OutlastingRuns(ofRuns)[retention.Events]
}
