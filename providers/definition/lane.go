package definition

// Lane is how a durable event is processed.
type Lane string

// The lanes of a definition.
const (
	// LaneWorkflow gives the event a workflow of its own.
	LaneWorkflow Lane = "workflow"
	// LaneBulk leaves the event in the inbox, where a batch processes it together with others. If it fails there, it gets a
	// workflow of its own.
	LaneBulk Lane = "bulk"
)
