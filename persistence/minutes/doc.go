// Package minutes counts refused requests, and the events in which rules found an entity or didn't, by provider and minute. A
// refused request has no row, and to count events in their own table would read all of them.
//
// It must not depend on why a request is refused, or on what a rule is.
package minutes
