// Package oversight is the vocabulary of what operators see beside events: errors, alerts, refusals, statistics and reports, what
// operators did (audit), and their stay at the console.
//
// It knows what an event is. It must never know how any of it is told (internal/notify), stored (persistence) or shown
// (operator).
package oversight
