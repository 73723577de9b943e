package operation

import (
	"time"

	"holdfast/event"
)

// ClosedRun is a closed run of an event.
type ClosedRun struct {
	Run event.Run `json:"run"`
	// EventID is empty if unknown.
	EventID string `json:"event_id,omitempty"`
	// Status is "terminated", "timed_out", "canceled", "failed", or "completed".
	Status   string    `json:"status"`
	ClosedAt time.Time `json:"closed_at"`
}

// BatchedEvent is an event that a batch of the bulk lane has processed.
type BatchedEvent struct {
	WorkflowID string
	EventID    string
}

// OpenRun is a run of an event that has been open for long.
type OpenRun struct {
	Run       event.Run `json:"run"`
	EventID   string    `json:"event_id,omitempty"`
	StartedAt time.Time `json:"started_at"`
	// TaskAttempts counts the attempts of its workflow task: a high number means that the workflow code fails or that no worker has
	// it.
	TaskAttempts int `json:"task_attempts"`
}

// Stuck is the reason why a run has been open for long.
type Stuck string

// The reasons, most urgent first.
const (
	// StuckTask: its workflow task keeps failing; a deployment must fix it.
	StuckTask Stuck = "workflow_task"
	// StuckUnstored: the event is acknowledged and has no row yet.
	StuckUnstored Stuck = "not_stored"
	// StuckSlow: it is stored and being retried.
	StuckSlow Stuck = "slow"
	// StuckUnexamined: it wasn't checked, because there are too many.
	StuckUnexamined Stuck = "unexamined"
)

// StuckRuns counts the runs that are open for one reason.
type StuckRuns struct {
	Count  int
	Oldest OpenRun
}

// CountStuck counts open runs by reason. stored has the events with a row; total is the number of open runs, checked or not.
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

// LatestRun is the latest run of an event's workflow. The zero value means that there is none, or that the workflow doesn't
// process events.
type LatestRun struct {
	Run event.Run
	// EventID is empty if unknown.
	EventID   string
	Open      bool
	Succeeded bool
	// Status is the status as in ClosedRun, and ClosedAt when it ended; empty while it is open.
	Status   string
	ClosedAt time.Time
}

// EndedByOperator reports whether an operator terminated or canceled it.
func (l LatestRun) EndedByOperator() bool {
	return l.Status == event.CodeTerminated || l.Status == event.CodeCanceled
}

// Codes of dead letters created by comparing Temporal with the database, with step run.
const (
	// CodeLost: the run processed the event, but the database, restored from a backup, lacks it.
	CodeLost = "lost"
	// CodeNoRun: the event isn't processed, and Temporal has no run of it.
	CodeNoRun = "no_run"
)

// SweepPage selects a page of the runs that were closed in Since ≤ time < Until. Token is empty for the first page.
type SweepPage struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	Token []byte    `json:"token,omitempty"`
	// Restored: the database may be older than the runs, so successful and dead-lettered runs count, too.
	Restored bool `json:"restored,omitempty"`
	// MayBeDecided: the database may have lost operators' decisions. Only events that their runs have processed are processed again;
	// the dead letters of others wait for an operator.
	MayBeDecided bool `json:"may_be_decided,omitempty"`
	// Seen is the mark of the database that the sweep has compared. A page of another database is left to the next sweep.
	Seen Mark `json:"seen,omitzero"`
	// DryRun: nothing is recorded.
	DryRun bool `json:"dry_run,omitempty"`
	// Limit is the max number of runs; 0 means the default.
	Limit int `json:"limit,omitempty"`
}

// RowPage selects a page of stored events, ordered by ID: After < ID < Before, at most Limit.
type RowPage struct {
	After  string `json:"after,omitempty"`
	Before string `json:"before"`
	Limit  int    `json:"limit"`
	// Ended: events count whose own run ended without finishing them; otherwise they are left to a SweepPage.
	Ended bool `json:"ended,omitempty"`
	// MayBeDecided and Seen are as in a SweepPage.
	MayBeDecided bool `json:"may_be_decided,omitempty"`
	Seen         Mark `json:"seen,omitzero"`
	// DryRun: nothing is recorded.
	DryRun bool `json:"dry_run,omitempty"`
}

// SweptRows is the result of a RowPage. Last is the ID of its last event; empty after the last page.
type SweptRows struct {
	DeadLetters int    `json:"dead_letters"`
	Last        string `json:"last,omitempty"`
	Healed      Healed `json:"healed,omitzero"`
}

// SweptPage is the result of a SweepPage. Next is empty after the last page.
type SweptPage struct {
	DeadLetters int    `json:"dead_letters"`
	Next        []byte `json:"next,omitempty"`
	Healed      Healed `json:"healed,omitzero"`

	Unswept
}

// Unswept counts runs that a sweep skipped. The next sweep checks them again.
type Unswept struct {
	Skipped int `json:"unswept,omitempty"`
	// SkippedSince is when the first of them was closed.
	SkippedSince time.Time `json:"unswept_since,omitzero"`
}

// Add adds n runs; the first one was closed at since.
func (u *Unswept) Add(n int, since time.Time) {
	if n > 0 && (u.Skipped == 0 || since.Before(u.SkippedSince)) {
		u.SkippedSince = since
	}
	u.Skipped += n
}
