package oversight

import (
	"time"

	"holdfast/event"
)

// Stats is what a Holdfast has to do and has done, as of one moment.
type Stats struct {
	At time.Time `json:"at"`
	// Window is how far back Events and Errors look.
	Window event.Duration `json:"window"`
	// Events counts the stored events that were received in the window.
	Events []EventCount `json:"events"`
	// PerSecond is the rate of events over the window, Recent over the last minute.
	PerSecond float64 `json:"per_second"`
	Recent    float64 `json:"recent_per_second"`
	// DeadLetters counts all that are neither resolved nor discarded.
	DeadLetters []DeadLetterCount `json:"dead_letters"`
	// Inbox counts the events that are acknowledged and wait for Temporal, or for a batch.
	Inbox []InboxCount `json:"inbox"`
	// Deliveries counts those that are open; InTrouble are the names of some destinations that are in trouble.
	Deliveries []DeliveryCount `json:"deliveries"`
	InTrouble  []string        `json:"destinations_in_trouble,omitempty"`
	// Errors counts the errors of the window, overcome or not.
	Errors []ErrorCount `json:"errors"`
	// Queues are Temporal's; nil where Temporal did not answer.
	Queues []QueueStats `json:"queues,omitempty"`
	// Schedules are Temporal's as well.
	Schedules []ScheduleStats `json:"schedules,omitempty"`
}

// EventCount is a number of stored events.
type EventCount struct {
	Provider string       `json:"provider"`
	Status   event.Status `json:"status"`
	Count    int64        `json:"count"`
}

// DeadLetterCount is a number of dead letters.
type DeadLetterCount struct {
	Provider string                `json:"provider"`
	State    event.DeadLetterState `json:"state"`
	Class    event.Class           `json:"class"`
	Code     string                `json:"code"`
	Count    int64                 `json:"count"`
	Oldest   time.Time             `json:"oldest"`
}

// InboxCount is a number of events that wait in a lane of the inbox.
type InboxCount struct {
	Lane   event.Lane `json:"lane"`
	Count  int64      `json:"count"`
	Oldest time.Time  `json:"oldest"`
}

// DeliveryCount is a number of open deliveries: pending, processing or retrying. Oldest is when the first of them was queued.
type DeliveryCount struct {
	Status string     `json:"status"`
	Count  int64      `json:"count"`
	Oldest *time.Time `json:"oldest,omitempty"`
}

// ErrorCount is a number of errors.
type ErrorCount struct {
	Phase    event.Phase `json:"phase"`
	Provider string      `json:"provider,omitempty"`
	Class    event.Class `json:"class"`
	Code     string      `json:"code"`
	Count    int64       `json:"count"`
}

// QueueStats is the state of one task queue, its workflow and activity tasks together.
type QueueStats struct {
	Queue string `json:"queue"`
	// Backlog is about how many tasks wait; Age is how long the oldest one has.
	Backlog int64          `json:"backlog"`
	Age     event.Duration `json:"age"`
	// Added and Dispatched are tasks per second over the last seconds.
	Added      float64 `json:"added_per_second"`
	Dispatched float64 `json:"dispatched_per_second"`
	// Pollers is how many pollers asked for workflow and for activity tasks in the last minutes. Nobody works on a queue
	// that has none.
	WorkflowPollers int `json:"workflow_pollers"`
	ActivityPollers int `json:"activity_pollers"`
}

// ScheduleStats is how a schedule does.
type ScheduleStats struct {
	ID    string         `json:"id"`
	Every event.Duration `json:"every,omitempty"`
	// LastAt is when it ran last, and LastRun how that has ended: running, completed, failed, ….
	LastAt  *time.Time `json:"last_at,omitempty"`
	LastRun string     `json:"last_run,omitempty"`
	NextAt  *time.Time `json:"next_at,omitempty"`
	// Trouble is what is wrong, in words; "" if nothing is.
	Trouble string `json:"trouble,omitempty"`
}
