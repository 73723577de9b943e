package operation

// State is where a redrive or a rebuild stands: running ⇄ paused, and from both to completed or canceled, which it never
// leaves.
type State string

// The states of an operation.
const (
	Running   State = "running"
	Paused    State = "paused"
	Completed State = "completed"
	Canceled  State = "canceled"
)

// Ended says that the operation does nothing any more.
func (s State) Ended() bool { return s == Completed || s == Canceled }
