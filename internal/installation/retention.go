package installation

import (
	"holdfast/event"
	"holdfast/internal/config"
)

// Retention says how long what is kept.
func Retention(cfg config.Config) event.Retention {
	return event.Retention{
		event.KeptEvents:      cfg.Retention.Events,
		event.KeptDeadLetters: cfg.Retention.DeadLetters,
		event.KeptErrors:      cfg.Retention.ErrorLog,
		event.KeptAudit:       cfg.Retention.AuditLog,
		event.KeptChanges:     cfg.Retention.Changes,
	}
}
