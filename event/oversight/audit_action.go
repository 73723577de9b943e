package oversight

import "slices"

// AuditAction names an action in the audit log.
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

	AuditImportStart  AuditAction = "import.start"
	AuditImportPause  AuditAction = "import.pause"
	AuditImportResume AuditAction = "import.resume"
	AuditImportCancel AuditAction = "import.cancel"

	AuditDestinationApply   AuditAction = "destination.apply"
	AuditDestinationPause   AuditAction = "destination.pause"
	AuditDestinationResume  AuditAction = "destination.resume"
	AuditDestinationDisable AuditAction = "destination.disable"
	AuditDestinationDelete  AuditAction = "destination.delete"
	AuditDestinationRotate  AuditAction = "destination.rotate_secret"
	AuditDestinationProbe   AuditAction = "destination.probe"
	AuditSubscriptionApply  AuditAction = "subscription.apply"
	AuditSubscriptionDelete AuditAction = "subscription.delete"
	AuditSubscriptionTest   AuditAction = "subscription.test"
	AuditDeliverySend       AuditAction = "delivery.send"
	AuditDeliveryCancel     AuditAction = "delivery.cancel"

	AuditResendStart  AuditAction = "resend.start"
	AuditResendPause  AuditAction = "resend.pause"
	AuditResendResume AuditAction = "resend.resume"
	AuditResendCancel AuditAction = "resend.cancel"

	AuditLogin        AuditAction = "session.login"
	AuditLogout       AuditAction = "session.logout"
	AuditLoginRefused AuditAction = "session.refused"

	AuditExpunge AuditAction = "event.expunge"
	AuditPurge   AuditAction = "purge"

	AuditReconcile AuditAction = "reconcile"
)

var auditActions = []AuditAction{
	AuditReplay, AuditEdit, AuditDiscard, AuditReopen, AuditDelete, AuditCleanup,
	AuditRedriveStart, AuditRedrivePause, AuditRedriveResume, AuditRedriveCancel,
	AuditRebuildStart, AuditRebuildPause, AuditRebuildResume, AuditRebuildCancel,
	AuditImportStart, AuditImportPause, AuditImportResume, AuditImportCancel,
	AuditDestinationApply, AuditDestinationPause, AuditDestinationResume, AuditDestinationDisable, AuditDestinationDelete,
	AuditDestinationRotate, AuditDestinationProbe, AuditSubscriptionApply,
	AuditSubscriptionDelete, AuditSubscriptionTest, AuditDeliverySend,
	AuditDeliveryCancel, AuditResendStart, AuditResendPause, AuditResendResume, AuditResendCancel,
	AuditLogin, AuditLogout, AuditLoginRefused, AuditExpunge, AuditPurge,
	AuditReconcile,
}

// AuditActions lists all actions.
func AuditActions() []AuditAction { return slices.Clone(auditActions) }
