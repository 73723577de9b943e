// Package eventtypes stores the declared types of published events (event_types), and the revision by which other processes
// notice a change (event_types_head).
//
// It must not depend on what a check of an event finds.
package eventtypes
