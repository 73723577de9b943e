package workflows

import (
	"go.temporal.io/sdk/temporal"

	"holdfast/event"
	"holdfast/event/operation"
)

// Names on the wire: changing them breaks running workflows and operators' queries. Activity names are the method names in
// package activities.
const (
	// TypeProcessEvent processes one event.
	TypeProcessEvent = "ProcessEvent"
	// TypeProcessBatch processes a batch of the bulk lane.
	TypeProcessBatch = "ProcessBatch"
	// TypePurgeExpired deletes expired data; started by a schedule.
	TypePurgeExpired = "PurgeExpired"
	// TypeNotify sends failure notifications; started by a schedule.
	TypeNotify = "Notify"
	// TypeReportHealth sends the daily or weekly report; started by a schedule.
	TypeReportHealth = "ReportHealth"
	// TypeReplayDeadLetters runs a bulk replay.
	TypeReplayDeadLetters = "ReplayDeadLetters"
	TypeRebuildEntities   = "RebuildEntities"
	TypeResendDeliveries  = "ResendDeliveries"
	TypeImportPages       = "ImportPages"
	// TypeRecoverEvents reads a provider's list of events, and starts those that never arrived.
	TypeRecoverEvents = "RecoverEvents"
	// TypeRecoverDue starts the recoveries of all lists; started by a schedule.
	TypeRecoverDue = "RecoverDue"
	// TypeDestinationFailing escalates the failure of a destination.
	TypeDestinationFailing = "DestinationFailing"
	// TypeReplayDue runs due automatic replays; started by a schedule.
	TypeReplayDue = "ReplayDue"
	// TypeSweepRuns handles runs that couldn't record their own state, such as terminated ones; started by a schedule.
	TypeSweepRuns = "SweepRuns"
	// TypeObserveFields observes which fields new events have; started by a schedule.
	TypeObserveFields = "ObserveFields"

	// QueueDeadLetter is a queue of its own, so that events can't delay the recording of failures.
	QueueDeadLetter = "events-dead-letter"

	// QueueReplay runs replayed events. It has a few slots of its own, so that a large replay doesn't slow down live traffic.
	// A single replay by hand uses the event's queue.
	QueueReplay = "events-replay"

	// QueueFetch gets states from providers' APIs. It is a queue of its own, so that a slow API doesn't hold slots of events.
	QueueFetch = "events-fetch"

	// QueueLarge runs events whose body is in PostgreSQL only. It is a queue of its own, so that they don't hold slots of others,
	// and that no worker of an earlier release runs them: it would see an empty body.
	QueueLarge = "events-large"

	// QueueBulk processes batches of the bulk lane, apart from events with their own workflow.
	QueueBulk = "events-bulk"

	// QueueOperations runs operations and schedules, apart from events, so that they work even if those queues are full.
	QueueOperations = "operations"

	// IDs of schedules.
	SchedulePurge   = "holdfast-purge-expired"
	ScheduleNotify  = "holdfast-notify"
	ScheduleReport  = "holdfast-report-health"
	ScheduleReplay  = "holdfast-replay-due"
	ScheduleSweep   = "holdfast-sweep-runs"
	ScheduleRecover = "holdfast-recover"
	ScheduleObserve = "holdfast-observe-fields"

	// UpdatePause, UpdateResume and UpdateProbe are the updates of TypeDestinationFailing.
	UpdatePause  = "pause"
	UpdateResume = "resume"
	UpdateProbe  = "probe"

	queueCritical = "events-critical"
	queueHigh     = "events-high"
	queueNormal   = "events"

	// MemoEventID names the memo field with the event ID, under which a redelivery runs a failed event again.
	MemoEventID = "event_id"
	// MemoFingerprint distinguishes a redelivery from another event with the same key.
	MemoFingerprint = "fingerprint"
	// MemoSource allows filtering open runs by source.
	MemoSource = "source"

	// ErrorDeadLettered is the error type of a run whose dead letter is recorded.
	ErrorDeadLettered = "EventDeadLettered"
	// ErrorBatchFailed is the error type of a failed batch; its events stay in the inbox.
	ErrorBatchFailed = "BatchFailed"
)

// SearchProvider and SearchEventType are the search attributes of a run.
var (
	SearchProvider  = temporal.NewSearchAttributeKeyKeyword("Provider")
	SearchEventType = temporal.NewSearchAttributeKeyKeyword("EventType")
)

// Queue returns the task queue of a priority.
func Queue(p event.Priority) string {
	switch p {
	case event.PriorityCritical:
		return queueCritical
	case event.PriorityHigh:
		return queueHigh
	default:
		return queueNormal
	}
}

var operationTypes = map[operation.Kind]string{
	operation.KindReplay: TypeReplayDeadLetters, operation.KindRebuild: TypeRebuildEntities,
	operation.KindResend: TypeResendDeliveries, operation.KindImport: TypeImportPages,
	operation.KindRecovery: TypeRecoverEvents,
}

// OperationType returns the workflow type of the operations of a kind.
func OperationType(kind operation.Kind) string { return operationTypes[kind] }

// OperationSignal returns the signal that makes an operation read its row.
func OperationSignal(kind operation.Kind) string { return string(kind) + "-changed" }

// OperationID returns the workflow ID of an operation. Unlike an event's, it has no colon.
func OperationID(kind operation.Kind, id string) string { return string(kind) + "/" + id }

// DestinationWorkflowID returns the ID of the workflow for a failing destination.
func DestinationWorkflowID(destination string) string { return destinationPrefix + destination }

// Queues lists the task queues of events, most urgent first.
func Queues() []string { return []string{queueCritical, queueHigh, queueNormal} }

// AllQueues lists all task queues, the queues of events first.
func AllQueues() []string {
	return append(Queues(), QueueLarge, QueueBulk, QueueReplay, QueueFetch, QueueDeadLetter, QueueOperations)
}

// destinationPrefix has no colon, so that it can't be mistaken for an event's workflow ID.
const destinationPrefix = "destination/"

// IDPrefixes lists the prefixes of the IDs of Holdfast's workflows, except for events. A scheduled run has the ID of its
// schedule and a time.
func IDPrefixes() []string {
	all := []string{
		destinationPrefix, event.BatchWorkflowID(""), SchedulePurge, ScheduleNotify, ScheduleReport, ScheduleReplay, ScheduleSweep,
		ScheduleRecover, ScheduleObserve,
	}
	for _, kind := range operation.Kinds() {
		all = append(all, OperationID(kind, ""))
	}
	return all
}
