// Package records reads the rows in which events stand: in the table of events, and in the inbox, before they have one there.
//
// It must never write, nor know which of them somebody asks for: whoever reads adds what it goes by.
package records
