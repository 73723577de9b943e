// Package fold computes the state of an entity from the changes of events, in whatever order they arrive. It also computes the
// effect of each change, and which change set each field.
//
// It is pure: the same changes yield the same bytes. It must not depend on where changes are stored or which of them are read.
package fold
