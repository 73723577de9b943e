package definition

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
