// Package observed stores which fields the events of a type have, and reads the samples of events from which that is inferred.
//
// It must not depend on what a definition reads, or on how a shape is inferred.
package observed
