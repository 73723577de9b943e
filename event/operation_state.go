package event

// OperationState is where a redrive or a rebuild stands: running ⇄ paused, and from both to completed or canceled, which it never
// leaves.
type OperationState string

// The states of an operation.
const (
	OperationRunning   OperationState = "running"
	OperationPaused    OperationState = "paused"
	OperationCompleted OperationState = "completed"
	OperationCanceled  OperationState = "canceled"
)

// Ended says that the operation does nothing any more.
func (s OperationState) Ended() bool { return s == OperationCompleted || s == OperationCanceled }
