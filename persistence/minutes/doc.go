// Package minutes counts by minutes, in the background: refused requests, the events in which rules found an entity or didn't,
// and the results of events and deliveries, from which charts are drawn. A refused request has no row, and to count events in
// their own table would read all of them.
//
// It must not depend on why a request is refused, or on what a rule is.
package minutes
