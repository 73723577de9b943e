// Package read queries events, entities and the database as a whole: single events, pages, timelines, counts.
//
// It must never write. Its queries find rows by an index, whatever the arguments are; only the inbox, which is small or soon will
// be, is scanned.
package read
