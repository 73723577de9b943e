// Package operations holds the activities that belong to no event of their own: redrives, rebuilds, sweeps, retention and
// messages to people, one a file. Its workflows run on a queue that no event is on.
//
// It must never know SQL, HTTP, or how a step of an event is done: what runs again is a run of its own.
package operations

import (
	"holdfast/activities"
	"holdfast/event"
	"holdfast/event/operation"
)

// Activities are those of redrives, rebuilds and sweeps. The names of its methods stand in histories.
type Activities struct {
	Starter     RunStarter
	Runs        RunReader
	DeadLetters activities.DeadLetterStore
	Replays     ReplayStore
	Redrives    RedriveStore
	Rebuilds    RebuildStore
	Resends     ResendStore
	Imports     ImportStore
	Receivers   ReceiverStore
	Due         DueStore
	Sweeps      SweepStore
	// Parse reads stored events with today's definitions.
	Parse event.Parser
	// Automatic is the policy of automatic redrive as it stands now: definitions are reloaded.
	Automatic func() operation.AutomaticRedrive
	// Errors takes what somebody should be told of and no step reports; nil where there is no error log.
	Errors activities.ErrorSink
}
