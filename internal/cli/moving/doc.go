// Package moving has the commands that bring what another system has, and tell what differs from it.
//
// It must never know how a line is read or applied.
package moving
