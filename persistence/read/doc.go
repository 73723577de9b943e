// Package read answers what is asked of events, entities and the database as a whole: one event, a page, a timeline, counts.
//
// It must never write. What it asks finds its rows by an index, whatever the arguments are; only the inbox, which is small or
// about to be, is read as a whole.
package read
