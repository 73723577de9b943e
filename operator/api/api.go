package api

import (
	"context"
	"encoding/json"
	"time"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/api/definitionapi"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/api/eventtypeapi"
	"holdfast/operator/httpapi"
)

// API holds what the operator API reads and changes. Routes of nil fields aren't served.
type API struct {
	Events EventStore
	// Accepted finds the events that wait for a worker; nil leaves them out.
	Accepted      AcceptedStore
	DeadLetters   DeadLetterStore
	SingleReplays SingleReplayer
	Entities      EntityStore
	Audit         AuditLog
	Errors        ErrorLog
	Conflicts     ConflictList
	Stats         Statistics
	// Maintenance serves what only administrators do.
	Maintenance Maintenance
	Replays     BulkReplayer
	Rebuilds    Rebuilder
	Imports     *Importer
	Recoveries  httpapi.Operations[operation.Recovery]
	// Lists, Mappings and Counts have no route: only the console uses them.
	Lists    Lists
	Mappings Mappings
	Counts   ListCounter
	// Changes is the change feed; Live shares it among many followers.
	Changes feed.Reader
	Live    *feed.Hub
	// Outbound serves destinations, subscriptions and deliveries.
	Outbound *deliveryapi.API
	// EventTypes serves the declared types of published events.
	EventTypes *eventtypeapi.API
	// Redactor decides what viewers see of a received body; with nil they see nothing of it.
	Redactor Redactor
	// Definitions serves providers' definitions.
	Definitions *definitionapi.API
	// Payloads is the codec endpoint for Temporal Web and the Temporal command lines.
	Payloads PayloadCodec

	// WorkflowURL returns the page of a run in Temporal Web; nil if that isn't configured.
	WorkflowURL func(event.Run) string

	// WriteTimeout is how long to wait for a follower that doesn't read; 0 means 10 seconds.
	WriteTimeout time.Duration
}

// EventStore reads stored events.
type EventStore interface {
	// Event returns an event with its body and links, or event.ErrNotFound.
	Event(ctx context.Context, id string) (event.Record, error)
	Events(ctx context.Context, q event.RecordQuery) ([]event.Record, error)
	// SearchEvents searches the newest events for q.Text and q.DeliveryStatus, among those that match the rest of the query.
	SearchEvents(ctx context.Context, q event.RecordQuery) (event.FoundEvents, error)
	// Decision returns an operator's decision about an event, or event.ErrNotFound.
	Decision(ctx context.Context, eventID string) (event.Decision, error)
	// WaitingEvent returns an event in the inbox, or event.ErrNotFound.
	WaitingEvent(ctx context.Context, id string) (event.Waiting, error)
	// LargeBody returns the body of a large event, which Temporal doesn't have. The error is rejected if PostgreSQL has lost it.
	LargeBody(ctx context.Context, r event.Receipt) ([]byte, error)
	// ConflictOfEvent returns the conflict that an event was dropped for, or event.ErrNotFound.
	ConflictOfEvent(ctx context.Context, eventID string) (event.Conflict, error)
	// OwnerOfRedelivery returns the event that a redelivery repeated, by the redelivery's own ID, or event.ErrNotFound.
	OwnerOfRedelivery(ctx context.Context, id string) (eventID string, err error)
	// Duplicates counts the redeliveries of an event.
	Duplicates(ctx context.Context, eventID string) (event.Duplicates, error)
	// EventOfWorkflow returns the ID of the latest event that a workflow has run, stored or not, or event.ErrNotFound.
	EventOfWorkflow(ctx context.Context, workflowID string) (eventID string, err error)
	// EventsOfWorkflows is EventOfWorkflow for several workflows: it returns event IDs by workflow ID.
	EventsOfWorkflows(ctx context.Context, workflowIDs []string) (eventIDs map[string]string, err error)
	// WaitingByWorkflow returns the event of a workflow in the inbox, or event.ErrNotFound.
	WaitingByWorkflow(ctx context.Context, workflowID string) (event.Waiting, error)
	// EventByKey returns the stored event that owns a provider's key, or event.ErrNotFound.
	EventByKey(ctx context.Context, provider, key string) (event.Record, error)
	// EventsOfRequest returns the events received in a request, or event.ErrNotFound.
	EventsOfRequest(ctx context.Context, requestID string) (eventIDs []string, err error)
	// EventsEndingWith returns the newest events whose ID ends with a text.
	EventsEndingWith(ctx context.Context, tail string) (eventIDs []string, err error)
	// EventVersion returns a text that changes with everything that is stored about an event. It is cheap.
	EventVersion(ctx context.Context, id string) (string, error)
	// WorkflowsOf returns the workflows that have run an event, or event.ErrNotFound if the event is unknown.
	WorkflowsOf(ctx context.Context, id string) ([]string, error)
	// Inbox lists the events in the inbox.
	Inbox(ctx context.Context, q event.InboxQuery) ([]event.Waiting, error)
	// StoredEvents returns which of the events have a row.
	StoredEvents(ctx context.Context, ids []string) (map[string]bool, error)
	// RecentTypes returns the providers and types of the newest events.
	RecentTypes(ctx context.Context) (providers, types []string, err error)
	// SourcesOf lists up to limit sources of a provider's events.
	SourcesOf(ctx context.Context, provider string, limit int) ([]string, error)
}

// DeadLetterStore reads and closes dead letters. Each change writes one audit entry in its transaction, and is refused with a
// *event.StateError if the state doesn't allow it.
type DeadLetterStore interface {
	DeadLetter(ctx context.Context, id int64) (event.DeadLetter, error)
	// DeadLetterOfEvent returns the latest dead letter of an event.
	DeadLetterOfEvent(ctx context.Context, eventID string) (event.DeadLetter, error)
	DeadLetters(ctx context.Context, q event.DeadLetterQuery) ([]event.DeadLetter, error)
	// Causes groups the waiting dead letters of a provider; "" means all providers.
	Causes(ctx context.Context, provider string) ([]operation.Cause, error)
	DiscardDeadLetter(ctx context.Context, id int64, by oversight.Actor) error
	// ReopenDeadLetter undoes a discard.
	ReopenDeadLetter(ctx context.Context, id int64, by oversight.Actor) error
	DeleteDeadLetter(ctx context.Context, id int64, by oversight.Actor) error
	CleanUpDeadLetters(ctx context.Context, c operation.Cleanup, by oversight.Actor) (removed int64, err error)
}

// SingleReplayer runs dead-lettered events again. It refuses one that can't run with a *event.StateError, or with a
// *operation.RunExistsError if Temporal has a run that the row doesn't show.
type SingleReplayer interface {
	// Replay starts a run of the unchanged event. Of several concurrent calls, one starts it and the others are refused.
	Replay(ctx context.Context, id int64, by oversight.Actor) (operation.Replayed, error)
	Fetch(ctx context.Context, id int64, by oversight.Actor) (operation.Replayed, error)
	// EditAndReplay starts a run of a new event that replaces the dead letter's event.
	EditAndReplay(ctx context.Context, e operation.Edit, by oversight.Actor) (operation.Replayed, error)
}

// EntityStore reads entities.
type EntityStore interface {
	Entity(ctx context.Context, ref event.EntityRef) (event.Entity, error)
	EntityAsOf(ctx context.Context, ref event.EntityRef, at time.Time) (event.Entity, error)
	EntityList(ctx context.Context, q event.EntityQuery) (event.FoundEntities, error)
	// EntitiesNamed returns the entities with an ID or another name, of any provider and kind, up to limit.
	EntitiesNamed(ctx context.Context, name string, limit int) ([]event.EntityRef, error)
	TimelinePage(ctx context.Context, q event.TimelineQuery) ([]event.Link, error)
	// Effects returns a page of the timeline, with each change's effect on the entity.
	Effects(ctx context.Context, q event.TimelineQuery) ([]fold.Effect, error)
}

// AuditLog reads operators' actions.
type AuditLog interface {
	AuditLog(ctx context.Context, q oversight.AuditQuery) ([]oversight.AuditEntry, error)
}

// ErrorLog reads the errors of all phases.
type ErrorLog interface {
	Errors(ctx context.Context, q oversight.ErrorQuery) ([]oversight.ErrorEntry, error)
}

// Statistics counts pending and completed work.
type Statistics interface {
	Stats(ctx context.Context, window time.Duration) (oversight.Stats, error)
	// Attention counts what needs an operator, which is cheaper than Stats.
	Attention(ctx context.Context) (oversight.Attention, error)
	// Report summarizes a period and compares it with the previous one.
	Report(ctx context.Context, since, until time.Time) (oversight.Report, error)
	// EventHistory counts the events of a provider by result, oldest first, without empty buckets; "" means all providers.
	EventHistory(ctx context.Context, provider string, s oversight.Span) ([]oversight.EventBucket, error)
	// DeliveryHistory counts the attempts at a destination in the same way.
	DeliveryHistory(ctx context.Context, destinationID int64, s oversight.Span) ([]oversight.DeliveryBucket, error)
	// DeliveryTotals counts the same in all of a span, of each destination that has any, by ID.
	DeliveryTotals(ctx context.Context, destinations []int64, s oversight.Span) (map[int64]oversight.DeliveryBucket, error)
}

// ListCounter counts the rows of lists by state, whatever state the query itself selects. It reads a bounded number of rows: see
// event.Count. What can't be counted that way is missing.
type ListCounter interface {
	EventCounts(ctx context.Context, q event.RecordQuery) (event.Counts, error)
	DeadLetterCounts(ctx context.Context, q event.DeadLetterQuery) (event.Counts, error)
	DeliveryCounts(ctx context.Context, q delivery.Query) (event.Counts, error)
}

// BulkReplayer replays dead letters in bulk.
type BulkReplayer interface {
	httpapi.Operations[operation.Replay]
	// Count counts the dead letters that a replay with the filter would run.
	Count(ctx context.Context, f operation.ReplayFilter) (operation.ReplayPlan, error)
	// Plan is Count, and also counts the events that have other keys by the current definitions, for which it parses the
	// bodies of the first dead letters; 0 means the default bound.
	Plan(ctx context.Context, f operation.ReplayFilter, first int) (operation.ReplayPlan, error)
}

// Rebuilder re-reads stored events.
type Rebuilder interface {
	httpapi.Operations[operation.Rebuild]
	// Diff returns what a dry run would change in some entities; event.ErrNotFound unless it is the latest rebuild.
	Diff(ctx context.Context, id string) ([]fold.EntityDiff, error)
}

// Mappings counts in which events rules for entities found one.
type Mappings interface {
	// Mapped counts the events of the last day for which rules for entities are meant, by provider.
	Mapped(ctx context.Context) ([]oversight.MappedEvents, error)
}

// Lists knows what was read of providers' lists of events.
type Lists interface {
	// Health says for each list until when its events are complete.
	Health(ctx context.Context) ([]operation.ListHealth, error)
}

// RefusalMemory counts why this process refused requests.
type RefusalMemory interface {
	// Refusals returns a provider's refusals, or for "" the refusals of all providers, by name.
	Refusals(provider string) []oversight.ProviderRefusals
}

// Redactor applies the redaction rules of providers' definitions.
type Redactor interface {
	// Redacts reports whether the provider's definition hides anything. It is true for an unknown provider.
	Redacts(provider string) bool
	// Redact returns a body as JSON without its hidden parts; null if it can't be decoded.
	Redact(r event.Receipt, body []byte) (json.RawMessage, error)
}

// Routes returns the API's routes. Tests compare them with the access table, and generate openapi.json from them.
func (a *API) Routes() []httpapi.Route {
	var all []httpapi.Route
	add := func(isServed bool, routes func() []httpapi.Route) {
		if isServed {
			all = append(all, routes()...)
		}
	}
	add(a.Events != nil, a.eventRoutes)
	add(a.Events != nil, a.inboxRoutes)
	add(a.DeadLetters != nil, a.deadLetterRoutes)
	add(a.SingleReplays != nil, a.singleReplayRoutes)
	add(a.Entities != nil, a.entityRoutes)
	add(a.Audit != nil, a.auditRoutes)
	add(a.Errors != nil, a.errorRoutes)
	add(a.Conflicts != nil, a.conflictRoutes)
	add(a.Changes != nil && a.Live != nil, a.changeRoutes)
	add(a.Stats != nil, a.statsRoutes)
	add(a.Replays != nil, a.replayRoutes)
	add(a.Rebuilds != nil, a.rebuildRoutes)
	add(a.Imports != nil, a.importRoutes)
	add(a.Imports != nil, a.compareRoutes)
	add(a.Recoveries != nil, a.recoveryRoutes)
	add(a.Events != nil && a.Outbound != nil, a.attemptRoutes)
	add(a.Outbound != nil, a.Outbound.Routes)
	add(a.EventTypes != nil, a.EventTypes.Routes)
	add(a.Definitions != nil, a.Definitions.Routes)
	add(a.Payloads != nil, a.payloadRoutes)
	add(a.Maintenance != nil, a.maintenanceRoutes)
	return all
}
