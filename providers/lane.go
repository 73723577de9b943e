package providers

// Lane says which way an event goes once it is durable.
type Lane string

// The lanes of a definition.
const (
	// LaneWorkflow: the event becomes a workflow of its own.
	LaneWorkflow Lane = "workflow"
	// LaneBulk: the event waits in the inbox, and a batch processes it together with others. One that fails there gets a
	// workflow of its own after all.
	LaneBulk Lane = "bulk"
)

// maxBulk is the most bytes that an event of the bulk lane may have, its envelope included, so that a batch of hundreds fits
// into memory. A larger one becomes a workflow.
const maxBulk = 32 << 10

// laneOf is the lane that an event of a size takes: that of the rules, if it is small enough.
func (r *rules) laneOf(size int) Lane {
	if size > maxBulk {
		return LaneWorkflow
	}
	return r.lane
}
