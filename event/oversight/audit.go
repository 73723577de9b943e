package oversight

import (
	"encoding/json"
	"time"
)

// Actor is who changes something by hand, and why. Every change that an operator makes takes one, and writes one
// AuditEntry in its own transaction.
type Actor struct {
	// Name is the name of the token, "cli:" and the user of the operating system, or "local" where no token is asked for.
	Name string
	// Role is the role that the actor had: viewer, operator, integrator, admin; empty for the command line, which has the database.
	Role string
	// RequestID is the request to the API that made the change; empty for the command line.
	RequestID string
	// Reason is what the actor gave as one; it may be empty where none is asked for.
	Reason string
}

// IsAdmin reports whether the actor may do everything: an admin, or someone at the command line, who has the database.
func (a Actor) IsAdmin() bool { return a.Role == "" || a.Role == "admin" }

// Did is the entry for one change: what was done ("dead_letter.discard") to what ("dead_letter:7"). The detail is a JSON
// object or nil; like all of an entry it holds no payload, header value or secret.
func (a Actor) Did(action AuditAction, object string, detail json.RawMessage) AuditEntry {
	return AuditEntry{
		Actor: a.Name, Role: a.Role, Action: action, Object: object,
		RequestID: a.RequestID, Reason: a.Reason, Detail: detail,
	}
}

// AuditEntry is one change that an operator made. Entries are only ever added.
type AuditEntry struct {
	// ID is the row's own number; 0 before it is stored.
	ID int64 `json:"id"`
	// At is the database's time of the change; zero before it is stored.
	At        time.Time       `json:"at"`
	Actor     string          `json:"actor"`
	Role      string          `json:"role,omitempty"`
	Action    AuditAction     `json:"action"`
	Object    string          `json:"object"`
	RequestID string          `json:"request_id,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Detail    json.RawMessage `json:"detail,omitempty"`
}

// AuditQuery selects audit entries, newest first. Empty fields do not restrict.
type AuditQuery struct {
	Actor  string
	Action AuditAction
	Object string
	// Since and Until bound the time of the change: Since ≤ at < Until.
	Since, Until time.Time
	// Before is the ID of the last entry of the page before; 0 for the first page.
	Before int64
	// Limit is 1 to MaxPage; 0 means MaxPage.
	Limit int
}
