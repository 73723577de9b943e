// Package entities stores what events did to entities (their links), folds it into their states in bounded time, and reads states
// at any point in time. Entities are locked, and new ones inserted, in one order: bytewise.
//
// Life (life.go) classifies a change to an entity: a mention, before the last reset, on top, or out of order. An out-of-order
// change is folded from the last checkpoint before it, so that its cost depends on how far out of order it is, not on the number
// of changes.
//
// The package must not depend on which event makes a change, nor on how events are grouped: its input is a transaction, with its
// needs and touches.
package entities
