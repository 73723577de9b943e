// Package deadletter has the commands for dead letters and their replays.
//
// It must not decide what may be replayed, or when: package launch does, for the API as well.
package deadletter
