// Package deadletter holds the commands about dead letters and about redrives, which run many of them again.
//
// It must never decide what may be run again, or when: that is package redrive's, for the API as well.
package deadletter
