// Package entities stores what events did to entities (their links), folds it into their states in bounded time, and reads
// states at any point in time. Entities are locked and inserted in the same order, sorted bytewise by key.
//
// Life (life.go) classifies a change to an entity: a mention, a change up to the base or before the last reset (without
// effect), one after the last change, or one out of order. An out-of-order change is folded from the last checkpoint before
// it, so that its cost depends on how far out of order it is, not on the number of changes.
//
// The package must not depend on which event makes a change, nor on how events are grouped. Its input is what one transaction
// needs: the entities to lock (Needs), and the links to add and remove (Touches).
package entities
