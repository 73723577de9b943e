// Package minutes counts, by provider and minute, what has no rows of its own: refused requests, and events by whether rules
// found an entity in them.
//
// It must not depend on why a request is refused, or on what a rule is.
package minutes
