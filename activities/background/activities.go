// Package background holds the activities that belong to no single event, one noun per file: replays, rebuilds, sweeps,
// retention and messages to operators. Their workflows use a task queue without events.
//
// It must not depend on SQL, HTTP or how a step of an event is done: events are processed again by runs of their own.
package background

import (
	"holdfast/activities"
	"holdfast/event"
	"holdfast/event/operation"
)

// Activities implements the activities of replays, rebuilds and sweeps. Histories contain the names of its methods.
type Activities struct {
	Starter      RunStarter
	Runs         RunReader
	DeadLetters  activities.DeadLetterStore
	Claims       ClaimStore
	Replays      ReplayStore
	Rebuilds     RebuildStore
	States       StateStore
	Fetcher      activities.Fetcher
	Resends      ResendStore
	Imports      ParsedStore[operation.Import]
	Recoveries   RecoveryStore
	Lists        EventLists
	Inbox        Inbox
	Destinations DestinationStore
	Due          DueStore
	Sweeps       SweepStore
	Kept         AcceptedStore
	Healing      HealStore
	Audit        AuditLog
	Shapes       ShapeStore
	Definitions  Definitions
	// Parse parses stored events with the current definitions.
	Parse event.Parser
	// ParseAgain is Parse that also says which events the definitions split.
	ParseAgain event.Parser
	// Automatic returns the current policy of automatic replay, which a reload of the definitions can change.
	Automatic func() operation.AutomaticReplay
	// RestoreRate is the max number of restored events that are started again per second.
	RestoreRate float64
	// Errors receives what operators should see and no step reports; nil without an error log.
	Errors activities.ErrorSink
}
