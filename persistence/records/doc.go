// Package records reads the rows of events: in the table of events, and in the inbox, before they have one there.
//
// It must never write, nor choose rows: its callers add the conditions.
package records
