// Package names keeps which names of entities stand for which others, where a kind has several: see event.Name. It locks names in
// one order, reads what they stand for, joins those that events tell of, and writes what was learned.
//
// It must never know what an event does to an entity, or what is to become of two that turn out to be one: the writer merges
// them.
package names
