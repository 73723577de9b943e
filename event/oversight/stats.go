package oversight

import (
	"time"

	"holdfast/event"
)

// Stats is a snapshot of the workload and backlog of an installation.
type Stats struct {
	At time.Time `json:"at"`
	// Window is the period of Events and Errors.
	Window event.Duration `json:"window"`
	// Events counts the stored events that were received in the window.
	Events []EventCount `json:"events"`
	// LastDay counts the events of the last 24 hours by result; absent where only the present matters.
	LastDay *EventHistory `json:"last_day,omitempty"`
	// PerSecond is the rate of events in the window.
	PerSecond float64 `json:"per_second"`
	// Recent is the rate of events in the last minute.
	Recent float64 `json:"recent_per_second"`
	// DeadLetters counts unresolved dead letters.
	DeadLetters []DeadLetterCount `json:"dead_letters"`
	// Inbox counts events in the inbox.
	Inbox []InboxCount `json:"inbox"`
	// Deliveries counts open deliveries.
	Deliveries []DeliveryCount `json:"deliveries"`
	// FailingDestinations names some failing destinations, those that have failed for longest first.
	FailingDestinations []string `json:"failing_destinations,omitempty"`
	// Errors counts the errors in the window.
	Errors []ErrorCount `json:"errors"`
	// Queues are Temporal's task queues; absent if Temporal didn't respond.
	Queues []QueueStats `json:"queues,omitempty"`
	// Schedules are absent if Temporal didn't respond.
	Schedules []ScheduleStats `json:"schedules,omitempty"`
}

// Attention counts what needs an operator now.
type Attention struct {
	// DeadLetters counts unresolved dead letters, except for those being replayed; FailingDestinations, destinations whose last
	// attempts failed.
	DeadLetters, FailingDestinations int64
}

// EventCount counts stored events.
type EventCount struct {
	Provider string       `json:"provider"`
	Status   event.Status `json:"status"`
	Count    int64        `json:"count"`
}

// DeadLetterCount counts dead letters.
type DeadLetterCount struct {
	Provider string                `json:"provider"`
	State    event.DeadLetterState `json:"state"`
	Class    event.Class           `json:"class"`
	Code     string                `json:"code"`
	Count    int64                 `json:"count"`
	Oldest   time.Time             `json:"oldest"`
}

// InboxCount counts events in a lane of the inbox.
type InboxCount struct {
	Lane   event.Lane `json:"lane"`
	Count  int64      `json:"count"`
	Oldest time.Time  `json:"oldest"`
}

// DeliveryCount counts open deliveries: pending, processing or retrying. Oldest is when the oldest was queued.
type DeliveryCount struct {
	Status string     `json:"status" jsonschema:"enum=pending,enum=processing,enum=retrying"`
	Count  int64      `json:"count"`
	Oldest *time.Time `json:"oldest,omitempty"`
}

// ErrorCount counts errors.
type ErrorCount struct {
	Phase    event.Phase `json:"phase"`
	Provider string      `json:"provider,omitempty"`
	Class    event.Class `json:"class"`
	Code     string      `json:"code"`
	Count    int64       `json:"count"`
}

// QueueStats is the state of a task queue, workflow and activity tasks together.
type QueueStats struct {
	Queue string `json:"queue"`
	// Backlog is the approximate number of pending tasks.
	Backlog int64 `json:"backlog"`
	// Age is the age of the oldest pending task.
	Age event.Duration `json:"age"`
	// Added and Dispatched are recent rates in tasks per second.
	Added      float64 `json:"added_per_second"`
	Dispatched float64 `json:"dispatched_per_second"`
	// The numbers of pollers in the last minutes. A queue without pollers isn't processed.
	WorkflowPollers int `json:"workflow_pollers"`
	ActivityPollers int `json:"activity_pollers"`
}

// ScheduleStats is the state of a schedule.
type ScheduleStats struct {
	ID    string         `json:"id"`
	Every event.Duration `json:"every,omitempty"`
	// LastAt is when it last ran.
	LastAt *time.Time `json:"last_at,omitempty"`
	// LastRun is the status of the last run: running, completed, failed, ….
	LastRun string     `json:"last_run,omitempty"`
	NextAt  *time.Time `json:"next_at,omitempty"`
	// Trouble describes a problem; empty if healthy.
	Trouble string `json:"failure,omitempty"`
}
