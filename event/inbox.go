package event

import "time"

// Waiting is an event in the inbox: acknowledged, but not in Temporal yet.
type Waiting struct {
	// Seq is the order of arrival.
	Seq     int64   `json:"seq"`
	Lane    Lane    `json:"lane"`
	Receipt Receipt `json:"receipt"`
	Body    []byte  `json:"-"`
	// RejectRedelivery means that a redelivery of a failed event is refused instead of run again.
	RejectRedelivery bool `json:"reject,omitempty"`
	// Attempts counts failed starts; DueAt is when the next one is due.
	Attempts  int       `json:"attempts"`
	LastError string    `json:"last_error,omitempty"`
	DueAt     time.Time `json:"due_at"`
}

// StartOutcome is the result of trying to start an event from the inbox.
type StartOutcome struct {
	// Started means that Temporal accepted it, so it leaves the inbox.
	Started bool
	// Owner is the event that the row's run belongs to, if Temporal has one: a row of LaneLarge leaves the inbox once that event,
	// or its dead letter, is stored.
	Owner string
	// Dead is why Temporal will never accept it: it becomes a dead letter and leaves the inbox.
	Dead *Failure
	// Error is why it stays, and Retry the time until the next attempt; "" if it wasn't tried.
	Error string
	Retry time.Duration
}

// InboxDepth is the size of each lane of the inbox. Empty lanes may be missing.
type InboxDepth map[Lane]LaneDepth

// LaneDepth is the size of a lane.
type LaneDepth struct {
	Depth int64 `json:"depth"`
	// Oldest is when the oldest event was received; zero if the lane is empty.
	Oldest time.Time `json:"oldest"`
}

// Age returns the age of the oldest event; 0 if the lane is empty.
func (d LaneDepth) Age(now time.Time) time.Duration {
	if d.Oldest.IsZero() {
		return 0
	}
	return max(now.Sub(d.Oldest), 0)
}

// InboxQuery selects inbox entries in order of arrival. Empty fields match everything.
type InboxQuery struct {
	Lane     Lane
	Provider string
	// Source is the sender within Provider.
	Source string
	// After is the Seq of the last entry on the previous page; 0 for the first page.
	After int64
	// Limit is 1 to MaxPage; 0 means MaxPage.
	Limit int
}

// Lane decides how an event in the inbox is processed.
type Lane string

// The lanes of the inbox.
const (
	// LaneOverflow: its workflow starts as soon as Temporal accepts it.
	LaneOverflow Lane = "overflow"
	// LaneBulk: it is processed in a batch, as its definition requests.
	LaneBulk Lane = "bulk"
	// LaneCopy: Temporal has it, too. The copy stays until the event is stored, or is started again if Temporal has lost its run.
	LaneCopy Lane = "copy"
	// LaneLarge: the body of an event that is too large for Temporal. It stays until the event or its dead letter is stored.
	LaneLarge Lane = "large"
)

// HasRun reports whether an event in this lane also has a run of its own.
func (l Lane) HasRun() bool { return l == LaneCopy || l == LaneLarge }

// Lanes lists all lanes.
func Lanes() []Lane { return []Lane{LaneOverflow, LaneBulk, LaneCopy, LaneLarge} }
