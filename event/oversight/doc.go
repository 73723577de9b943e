// Package oversight defines what operators monitor: errors, alerts, refusals, statistics and reports, the audit log, and console
// sessions.
//
// It must not depend on how these are sent (internal/notify), stored (persistence) or shown (operator).
package oversight
