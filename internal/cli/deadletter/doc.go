// Package deadletter has the commands for dead letters and for redrives, which replay them in bulk.
//
// It must not decide what may be replayed, or when: package redrive does, for the API as well.
package deadletter
