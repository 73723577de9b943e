package event

// Accepted is an event that is acknowledged and whose run is open, and that has no row yet.
type Accepted struct {
	Receipt Receipt
	Run     Run
	Body    []byte
	// TaskStarted says that a worker has its workflow task, TaskAttempts how often that task was tried.
	TaskStarted  bool
	TaskAttempts int
	// Activity is the step that is being retried, if there is one, and ActivityAttempts how often it was tried.
	Activity         string
	ActivityAttempts int
}

// AcceptedEvents are events of open runs, stored or not, the newest first, without their bodies.
type AcceptedEvents struct {
	Records []Record
	// IsCut says that there are more open runs than were looked at.
	IsCut bool
}

// FailingTask is how often a workflow task may be tried before it counts as failing: a deploy costs one or two attempts.
const FailingTask = 3
