package installation

import (
	"time"

	"holdfast/event/retention"
	"holdfast/internal/config"
)

// Retention says how long what is kept.
func Retention(cfg config.Config) retention.Times {
	return retention.Times{
		retention.Events:      cfg.Retention.Events,
		retention.DeadLetters: cfg.Retention.DeadLetters,
		retention.Errors:      cfg.Retention.ErrorLog,
		retention.Audit:       cfg.Retention.AuditLog,
		retention.Changes:     cfg.Retention.Changes,
	}
}

// RetentionOfEvents returns how long events are configured to stay, 0 for ever, and how long they stay in effect where Temporal
// keeps runs for a time.
func RetentionOfEvents(cfg config.Config, ofRuns time.Duration) (configured, effective time.Duration) {
	keep := Retention(cfg)
	return keep[retention.Events], keep.OutlastingRuns(ofRuns)[retention.Events]
}
