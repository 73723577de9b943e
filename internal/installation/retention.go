package installation

import (
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
