// Package names stores which names of entities stand for which others, for kinds with several names: see event.Name. It locks
// names in one order, resolves them, joins names that events give for one entity, and writes what is new.
//
// It must not depend on what events do to entities, nor merge entities: that is the writer's task.
package names
