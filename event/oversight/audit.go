package oversight

import (
	"encoding/json"
	"time"
)

// Actor is the user who makes a change, and why. Every change by an operator writes one AuditEntry in its own transaction.
type Actor struct {
	// Name is the name of the token, "cli:" and the OS user, or "local" if no token is required.
	Name string
	// Role is viewer, operator, integrator or admin; empty for the command line.
	Role string
	// RequestID is the API request; empty for the command line.
	RequestID string
	// Reason may be empty unless it is required.
	Reason string
}

// IsAdmin reports whether the actor may do everything: an admin, or a command line user, who has access to the database.
func (a Actor) IsAdmin() bool { return a.Role == "" || a.Role == "admin" }

// Did returns the audit entry of an action ("dead_letter.discard") on an object ("dead_letter:7"). detail is a JSON object or
// nil. An entry must not contain payloads, header values or secrets.
func (a Actor) Did(action AuditAction, object string, detail json.RawMessage) AuditEntry {
	return AuditEntry{
		Actor: a.Name, Role: a.Role, Action: action, Object: object,
		RequestID: a.RequestID, Reason: a.Reason, Detail: detail,
	}
}

// AuditEntry is a change made by an operator. Entries are never changed or deleted by hand.
type AuditEntry struct {
	ID int64 `json:"id"`
	// At is the database time of the change.
	At time.Time `json:"at"`
	// Actor is the name of the token, "cli:" and the OS user, or "local" if no token is required.
	Actor     string          `json:"actor"`
	Role      string          `json:"role,omitempty"`
	Action    AuditAction     `json:"action"`
	Object    string          `json:"object"`
	RequestID string          `json:"request_id,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Detail    json.RawMessage `json:"detail,omitempty" jsonschema:"type=object"`
}

// AuditQuery selects audit entries, newest first. Empty fields match everything.
type AuditQuery struct {
	Actor  string
	Action AuditAction
	Object string
	// Since and Until bound the time of the change: Since ≤ at < Until.
	Since, Until time.Time
	// Before is the ID of the last entry on the previous page; 0 for the first page.
	Before int64
	// Limit is 1 to MaxPage; 0 means MaxPage.
	Limit int
}

// AuditAction names an action in the audit log.
type AuditAction string

// The actions. Those of operations are made of kind and verb: see AuditActions.
const (
	AuditReplay AuditAction = "dead_letter.replay"
	// AuditFetch removes the state that was fetched for an event, so that its replay fetches it again.
	AuditFetch   AuditAction = "dead_letter.fetch"
	AuditEdit    AuditAction = "dead_letter.edit"
	AuditDiscard AuditAction = "dead_letter.discard"
	AuditReopen  AuditAction = "dead_letter.reopen"
	AuditDelete  AuditAction = "dead_letter.delete"
	AuditCleanup AuditAction = "dead_letter.cleanup"

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
	AuditEventTypeApply     AuditAction = "event_type.apply"
	AuditEventTypeDelete    AuditAction = "event_type.delete"
	AuditDeliveryResend     AuditAction = "delivery.resend"
	AuditDeliveryCancel     AuditAction = "delivery.cancel"
	// The head of an ordered key goes to the end of the key, stops, or may be attempted.
	AuditDeliverySkip   AuditAction = "delivery.skip"
	AuditDeliveryPause  AuditAction = "delivery.pause"
	AuditDeliveryResume AuditAction = "delivery.resume"

	AuditLogin        AuditAction = "session.login"
	AuditLogout       AuditAction = "session.logout"
	AuditLoginRefused AuditAction = "session.refused"

	// AuditSplit replaces an event by those that the current definition makes of it, when it runs again.
	AuditSplit   AuditAction = "event.split"
	AuditExpunge AuditAction = "event.expunge"
	AuditPurge   AuditAction = "purge"

	AuditReconcile AuditAction = "reconcile"
)

// AuditActions lists all actions, including actions on operations, such as "replay.pause".
func AuditActions() []AuditAction {
	all := []AuditAction{AuditReplay, AuditFetch, AuditEdit, AuditDiscard, AuditReopen, AuditDelete, AuditCleanup}
	for _, kind := range []AuditAction{"replay", "rebuild", "import", "resend", "recovery"} {
		all = append(all, kind+".start", kind+".pause", kind+".resume", kind+".cancel")
	}
	return append(all,
		AuditDestinationApply, AuditDestinationPause, AuditDestinationResume, AuditDestinationDisable, AuditDestinationDelete,
		AuditDestinationRotate, AuditDestinationProbe, AuditSubscriptionApply, AuditSubscriptionDelete, AuditSubscriptionTest,
		AuditEventTypeApply, AuditEventTypeDelete, AuditDeliveryResend, AuditDeliveryCancel, AuditDeliverySkip, AuditDeliveryPause,
		AuditDeliveryResume,
		AuditLogin, AuditLogout, AuditLoginRefused, AuditSplit, AuditExpunge, AuditPurge, AuditReconcile)
}

// Session is a console session, from login to logout. It contains no permissions: each request checks the token.
type Session struct {
	// ID is the SHA-256 of the secret in the cookie.
	ID []byte
	// Token is the name of the token, and Fingerprint distinguishes tokens of the same name.
	Token       string
	Fingerprint []byte
	ExpiresAt   time.Time
}
