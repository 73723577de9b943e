package access

import "slices"

// Role is what the holder of a token may do. Each role may do what the ones before it may.
type Role string

// The roles, the least first.
const (
	// RoleViewer reads: lists, events, entities, with the bodies redacted as their definitions say.
	RoleViewer Role = "viewer"
	// RoleOperator also reads raw bodies and the audit log, and replays, edits, discards and redrives; it pauses
	// deliveries, sends them again and tries subscriptions.
	RoleOperator Role = "operator"
	// RoleIntegrator also makes and changes destinations and subscriptions, and rotates their secrets.
	RoleIntegrator Role = "integrator"
	// RoleAdmin also removes, and names the environment variables with the secrets of destinations.
	RoleAdmin Role = "admin"
)

// Roles are all roles, the least first.
func Roles() []Role { return []Role{RoleViewer, RoleOperator, RoleIntegrator, RoleAdmin} }

// known says whether there is such a role.
func (r Role) known() bool { return slices.Contains(Roles(), r) }

// Includes says whether r may do what other may. A role that does not exist includes nothing and is included in nothing.
func (r Role) Includes(other Role) bool {
	return r.known() && other.known() && slices.Index(Roles(), r) >= slices.Index(Roles(), other)
}
