package operation

import "holdfast/event"

// Replayed is the result of a replay.
type Replayed struct {
	// DeadLetter is resolved if the run succeeds. An edited event has a new one.
	DeadLetter int64  `json:"dead_letter_id"`
	EventID    string `json:"event_id"`
	// Run is the started run. RunID is empty if the event was edited and its run couldn't be started: the edited event is then an
	// open dead letter, which can be replayed.
	Run event.Run `json:"run"`
}
