package event

import "slices"

// AuditAction is what an operator did, as the audit log has it.
type AuditAction string

// The actions.
const (
	AuditReplay  AuditAction = "dead_letter.replay"
	AuditEdit    AuditAction = "dead_letter.edit"
	AuditDiscard AuditAction = "dead_letter.discard"
	AuditReopen  AuditAction = "dead_letter.reopen"
	AuditDelete  AuditAction = "dead_letter.delete"
	AuditCleanup AuditAction = "dead_letter.cleanup"

	AuditRedriveStart  AuditAction = "redrive.start"
	AuditRedrivePause  AuditAction = "redrive.pause"
	AuditRedriveResume AuditAction = "redrive.resume"
	AuditRedriveCancel AuditAction = "redrive.cancel"

	AuditRebuildStart  AuditAction = "rebuild.start"
	AuditRebuildPause  AuditAction = "rebuild.pause"
	AuditRebuildResume AuditAction = "rebuild.resume"
	AuditRebuildCancel AuditAction = "rebuild.cancel"

	AuditExpunge AuditAction = "event.expunge"
	AuditPurge   AuditAction = "purge"
)

var auditActions = []AuditAction{
	AuditReplay, AuditEdit, AuditDiscard, AuditReopen, AuditDelete, AuditCleanup,
	AuditRedriveStart, AuditRedrivePause, AuditRedriveResume, AuditRedriveCancel,
	AuditRebuildStart, AuditRebuildPause, AuditRebuildResume, AuditRebuildCancel, AuditExpunge, AuditPurge,
}

// AuditActions are all that there are.
func AuditActions() []AuditAction { return slices.Clone(auditActions) }
