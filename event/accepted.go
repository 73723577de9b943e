package event

// Accepted is an acknowledged event with an open run and no row yet.
type Accepted struct {
	Receipt Receipt
	Run     Run
	Body    []byte
	// TaskStarted: a worker is processing its workflow task. TaskAttempts counts the attempts of that task.
	TaskStarted  bool
	TaskAttempts int
	// Activity is the step being retried, if any, and ActivityAttempts counts its attempts.
	Activity         string
	ActivityAttempts int
}

// AcceptedEvents are events of open runs, stored or not, newest first, without their bodies.
type AcceptedEvents struct {
	Records []Record
	// IsCut: there are more open runs than were read.
	IsCut bool
}

// FailingTask is the number of attempts at which a workflow task counts as failing: a deployment costs one or two attempts.
const FailingTask = 3
