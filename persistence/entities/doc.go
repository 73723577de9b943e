// Package entities keeps what events did to entities (their links), folds it into their states in bounded time, and gives the
// state of any moment. Entities are locked in one order, bytewise, and those that are not there are made in it.
//
// The life of an entity (life.go) says what a change is to it: a mention, before the last reset, on top, or late. What is late is
// folded from the last checkpoint before it, so that it costs as much as it is late, however long the life is.
//
// It must never know which event brings a change, nor in which group it comes: a transaction is given, with its needs and
// touches.
package entities
