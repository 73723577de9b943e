package access

import "slices"

// Role defines what the holder of a token may do. Each role includes the ones before it.
type Role string

// The roles, from least to most privileged.
const (
	// RoleViewer reads lists, events and entities, with bodies redacted as their definitions require.
	RoleViewer Role = "viewer"
	// RoleOperator also reads raw bodies and the audit log, and replays, edits, discards and redrives; it pauses
	// deliveries, sends them again and tries subscriptions.
	RoleOperator Role = "operator"
	// RoleIntegrator also creates and changes destinations and subscriptions, and rotates their secrets.
	RoleIntegrator Role = "integrator"
	// RoleAdmin also deletes, and names the environment variables that hold destinations' secrets.
	RoleAdmin Role = "admin"
)

// Roles returns all roles, from least to most privileged.
func Roles() []Role { return []Role{RoleViewer, RoleOperator, RoleIntegrator, RoleAdmin} }

// known reports whether the role exists.
func (r Role) known() bool { return slices.Contains(Roles(), r) }

// Includes reports whether r may do everything that other may. An unknown role includes nothing and is included in nothing.
func (r Role) Includes(other Role) bool {
	return r.known() && other.known() && slices.Index(Roles(), r) >= slices.Index(Roles(), other)
}
