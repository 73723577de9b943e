package event

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
