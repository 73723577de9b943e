package workflows

import (
	"holdfast/event"
	"holdfast/event/operation"
)

// Names on the wire. They stand in histories and in operators' queries, so a change here breaks running workflows.
// Activities go by the names of their methods in package activities.
const (
	// TypeProcessEvent is the workflow type of the one workflow that every event becomes.
	TypeProcessEvent = "ProcessEvent"
	// TypeProcessBatch is the workflow type of a batch of the bulk lane.
	TypeProcessBatch = "ProcessBatch"
	// TypePurgeExpired is started by a schedule and removes what has been kept for long enough.
	TypePurgeExpired = "PurgeExpired"
	// TypeNotify is started by a schedule and tells people what has failed.
	TypeNotify = "Notify"
	// TypeReportHealth is started by a schedule and tells people how a day or a week was.
	TypeReportHealth = "ReportHealth"
	// TypeRedriveDeadLetters works through one bulk redrive.
	TypeRedriveDeadLetters = "RedriveDeadLetters"
	// TypeRebuildEntities works through one rebuild.
	TypeRebuildEntities = "RebuildEntities"
	// TypeResendDeliveries works through one resend.
	TypeResendDeliveries = "ResendDeliveries"
	// TypeImportPages works through one import.
	TypeImportPages = "ImportPages"
	// TypeReceiverInTrouble is there for people while a destination is in trouble.
	TypeReceiverInTrouble = "ReceiverInTrouble"
	// TypeRedriveDue is started by a schedule and runs again what is due.
	TypeRedriveDue = "RedriveDue"
	// TypeSweepRuns is started by a schedule and looks after the runs that could not look after themselves.
	TypeSweepRuns = "SweepRuns"

	// QueueDeadLetter is a queue of its own, so that a flood of events cannot hold up the record of what failed.
	QueueDeadLetter = "events-dead-letter"

	// QueueRedrive is where events run that a redrive or the schedule runs again. It has few slots of its own, so that a
	// hundred thousand of them leave live traffic its latency. One replay by hand runs on the event's own queue.
	QueueRedrive = "events-redrive"

	// QueueBulk is where batches of the bulk lane are processed: no fire-hose takes the slots of events that have a workflow.
	QueueBulk = "events-bulk"

	// QueueOperations is where redrives and schedules are orchestrated: behind no event, so that they stay in control of
	// a queue that is full.
	QueueOperations = "operations"

	// SchedulePurge, ScheduleNotify and ScheduleReport are the IDs of the schedules.
	SchedulePurge  = "holdfast-purge-expired"
	ScheduleNotify = "holdfast-notify"
	ScheduleReport = "holdfast-report-health"
	// ScheduleRedrive and ScheduleSweep are the IDs of the schedules.
	ScheduleRedrive = "holdfast-redrive-due"
	ScheduleSweep   = "holdfast-sweep-runs"

	// UpdatePause, UpdateResume and UpdateProbe are the orders that ReceiverInTrouble takes.
	UpdatePause  = "pause"
	UpdateResume = "resume"
	UpdateProbe  = "probe"

	queueCritical = "events-critical"
	queueHigh     = "events-high"
	queueNormal   = "events"

	// SearchProvider and SearchEventType are the search attributes of a run, both of type Keyword.
	SearchProvider  = "Provider"
	SearchEventType = "EventType"

	// MemoEventID is the entry in a run's memo that lets a redelivery run a failed event again under its own ID.
	MemoEventID = "event_id"
	// MemoFingerprint is the entry that tells another event of the key from another delivery of this one.
	MemoFingerprint = "fingerprint"
	// MemoSource is the entry that lists of events that wait for a worker are filtered by.
	MemoSource = "source"

	// ErrorDeadLettered is the type of the error that a run fails with once its dead letter is recorded.
	ErrorDeadLettered = "EventDeadLettered"
	// ErrorBatchFailed is the type of the error that the run of a batch fails with; its events wait in the inbox as before.
	ErrorBatchFailed = "BatchFailed"
)

// Queue is the task queue of a priority.
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
	operation.KindRedrive: TypeRedriveDeadLetters, operation.KindRebuild: TypeRebuildEntities,
	operation.KindResend: TypeResendDeliveries, operation.KindImport: TypeImportPages,
}

// OperationType returns the workflow type of the operations of a kind.
func OperationType(kind operation.Kind) string { return operationTypes[kind] }

// OperationSignal returns the signal that makes an operation look at its row again.
func OperationSignal(kind operation.Kind) string { return string(kind) + "-changed" }

// OperationID returns the ID of the workflow of an operation. It has no colon, so that it is never an event's.
func OperationID(kind operation.Kind, id string) string { return string(kind) + "/" + id }

// ReceiverWorkflowID is the ID of the workflow of a destination in trouble.
func ReceiverWorkflowID(destination string) string { return destinationPrefix + destination }

// Queues are the task queues of events, most urgent first.
func Queues() []string { return []string{queueCritical, queueHigh, queueNormal} }

// AllQueues are all task queues, those of events first.
func AllQueues() []string {
	return append(Queues(), QueueBulk, QueueRedrive, QueueDeadLetter, QueueOperations)
}

// destinationPrefix has no colon, so that it is never the beginning of an event's ID.
const destinationPrefix = "destination/"

// IDPrefixes returns the beginnings of the IDs of every workflow that Holdfast starts, except those of events. A scheduled run
// has the ID of its schedule and a time.
func IDPrefixes() []string {
	all := []string{
		destinationPrefix, event.BatchWorkflowID(""), SchedulePurge, ScheduleNotify, ScheduleReport, ScheduleRedrive, ScheduleSweep,
	}
	for _, kind := range operation.Kinds() {
		all = append(all, OperationID(kind, ""))
	}
	return all
}
