package event

import "time"

// Waiting is an event that waits in the inbox: acknowledged, and not in Temporal yet.
type Waiting struct {
	// Seq is its place in the order of arrival.
	Seq     int64   `json:"seq"`
	Lane    Lane    `json:"lane"`
	Receipt Receipt `json:"receipt"`
	Body    []byte  `json:"-"`
	// Reject says that a redelivery of a failed event is refused and not run again.
	Reject bool `json:"reject,omitempty"`
	// Attempts is how often its start has failed, LastError why it did so last, DueAt when it is tried again.
	Attempts  int       `json:"attempts"`
	LastError string    `json:"last_error,omitempty"`
	DueAt     time.Time `json:"due_at"`
}

// Settled is what has become of an event that was taken from the inbox.
type Settled struct {
	// Started: Temporal has it, so it leaves the inbox.
	Started bool
	// Dead is why Temporal will never take it: it becomes a dead letter and leaves the inbox.
	Dead *Failure
	// Error is why it stays, and Retry how long until it is due again; "" if it was not tried at all.
	Error string
	Retry time.Duration
}

// InboxDepth says how much waits in the inbox, by lane. A lane in which nothing waits may be missing.
type InboxDepth map[Lane]LaneDepth

// LaneDepth says how much waits in one lane.
type LaneDepth struct {
	Depth int64 `json:"depth"`
	// Oldest is when the one that has waited for longest was received; zero if none waits.
	Oldest time.Time `json:"oldest"`
}

// Age is how long the oldest has waited at a time; 0 if none waits.
func (d LaneDepth) Age(now time.Time) time.Duration {
	if d.Oldest.IsZero() {
		return 0
	}
	return max(now.Sub(d.Oldest), 0)
}

// InboxQuery selects what waits in the inbox, in the order of arrival. Empty fields do not restrict.
type InboxQuery struct {
	Lane     Lane
	Provider string
	// Source is the sender within the provider; it goes with Provider.
	Source string
	// After is the Seq of the last one of the page before; 0 for the first page.
	After int64
	// Limit is 1 to MaxPage; 0 means MaxPage.
	Limit int
}

// Lane is the way by which an event that waits in the inbox gets worked off.
type Lane string

// The lanes.
const (
	// LaneOverflow: its workflow is started as soon as Temporal takes it.
	LaneOverflow Lane = "overflow"
	// LaneBulk: a batch takes it, because its definition says so.
	LaneBulk Lane = "bulk"
)

// Lanes are all of them.
func Lanes() []Lane { return []Lane{LaneOverflow, LaneBulk} }
