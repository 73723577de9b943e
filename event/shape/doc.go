// Package shape infers what the events of a type look like: which fields they have, of which JSON types, and how often. It
// notices when a new event differs from those before it.
//
// A Shape has the names of fields and counts. It never has a value: it must not be given anything that would print one.
package shape
