package operation

import (
	"time"

	"holdfast/event"
)

// ClosedRun is a run of an event that has ended.
type ClosedRun struct {
	Run event.Run `json:"run"`
	// EventID is empty if the run does not say.
	EventID string `json:"event_id,omitempty"`
	// Status is how it has ended: "terminated", "timed_out", "canceled", "failed", or "completed".
	Status   string    `json:"status"`
	ClosedAt time.Time `json:"closed_at"`
}

// OpenRun is a run of an event that has been open for long.
type OpenRun struct {
	Run       event.Run `json:"run"`
	EventID   string    `json:"event_id,omitempty"`
	StartedAt time.Time `json:"started_at"`
	// TaskAttempts is how often its workflow task has been tried: more than a few times means that the workflow code fails,
	// or that no worker has it.
	TaskAttempts int `json:"task_attempts"`
}

// Stuck is why a run has been open for long.
type Stuck string

// The reasons, the most urgent first.
const (
	// StuckTask: its workflow task fails or times out again and again; the event waits for a deploy.
	StuckTask Stuck = "workflow_task"
	// StuckUnstored: the event has been acknowledged and has no row yet.
	StuckUnstored Stuck = "not_stored"
	// StuckSlow: it is stored and retried, as its policy says.
	StuckSlow Stuck = "slow"
	// StuckUnexamined: beyond those that were looked at.
	StuckUnexamined Stuck = "unexamined"
)

// StuckRuns are how many runs are open for one reason, and the oldest of them.
type StuckRuns struct {
	Count  int
	Oldest OpenRun
}

// CountStuck counts open runs by reason. Stored are the events that have a row; total is how many runs are open, examined or not.
func CountStuck(runs []OpenRun, stored map[string]bool, total int) map[Stuck]StuckRuns {
	counts := map[Stuck]StuckRuns{}
	for _, run := range runs {
		reason := run.whyStuck(stored)
		c := counts[reason]
		if c.Count == 0 || run.StartedAt.Before(c.Oldest.StartedAt) {
			c.Oldest = run
		}
		c.Count++
		counts[reason] = c
	}
	if rest := total - len(runs); rest > 0 {
		counts[StuckUnexamined] = StuckRuns{Count: rest}
	}
	return counts
}

func (r OpenRun) whyStuck(stored map[string]bool) Stuck {
	switch {
	case r.TaskAttempts >= event.FailingTask:
		return StuckTask
	case !stored[r.EventID]:
		return StuckUnstored
	default:
		return StuckSlow
	}
}

// LatestRun is the latest run of the workflow of an event. The zero value means that there is none (any more), or that the
// workflow with this ID does not process events.
type LatestRun struct {
	Run event.Run
	// EventID is the event that it is a run of; empty if the run does not say.
	EventID string
	Open    bool
	// Succeeded says that it has ended well.
	Succeeded bool
	// Status is how it has ended, as that of a ClosedRun, and ClosedAt when; empty while it is open.
	Status   string
	ClosedAt time.Time
}

// EndedByOperator reports whether an operator has terminated or canceled it.
func (l LatestRun) EndedByOperator() bool {
	return l.Status == event.CodeTerminated || l.Status == event.CodeCanceled
}

// Codes of dead letters that a comparison of the two stores has made, of the step run.
const (
	// CodeLost: the run has processed the event, and the database, restored to an earlier moment, does not have it.
	CodeLost = "lost"
	// CodeNoRun: the event is stored and not processed, and Temporal has no run of it.
	CodeNoRun = "no_run"
)

// SweepPage is a page of the runs that were closed in Since ≤ time < Until. Token is empty for the first one.
type SweepPage struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	Token []byte    `json:"token,omitempty"`
	// Restored says that the database may be older than the runs are: those count, too, that ended well, or recorded a dead letter.
	Restored bool `json:"restored,omitempty"`
	// DryRun finds, and records nothing.
	DryRun bool `json:"dry_run,omitempty"`
	// Limit is how many runs it holds at most; 0 means as many as suit.
	Limit int `json:"limit,omitempty"`
}

// RowPage is a page of stored events, in the order of their IDs: After < ID < Before, at most Limit of them.
type RowPage struct {
	After  string `json:"after,omitempty"`
	Before string `json:"before"`
	Limit  int    `json:"limit"`
	// Ended says that events count, too, whose own run has ended without finishing them; else those are left to a SweepPage.
	Ended bool `json:"ended,omitempty"`
	// DryRun finds, and records nothing.
	DryRun bool `json:"dry_run,omitempty"`
}

// SweptRows says what a page of unfinished events has come to. Last is the ID that it ended with; empty after the last page.
type SweptRows struct {
	DeadLetters int    `json:"dead_letters"`
	Last        string `json:"last,omitempty"`
}

// SweptPage says what a page has come to. Next is empty after the last one.
type SweptPage struct {
	DeadLetters int    `json:"dead_letters"`
	Next        []byte `json:"next,omitempty"`

	Unswept
}

// Unswept are runs that a sweep had to pass over. They are looked at again by the next one.
type Unswept struct {
	Count int `json:"unswept,omitempty"`
	// Since is when the first of them was closed.
	Since time.Time `json:"unswept_since,omitzero"`
}

// Add adds n runs, the first of which was closed at a time.
func (u *Unswept) Add(n int, since time.Time) {
	if n > 0 && (u.Count == 0 || since.Before(u.Since)) {
		u.Since = since
	}
	u.Count += n
}
