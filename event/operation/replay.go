package operation

import "holdfast/event"

// Replayed says what a replay has started.
type Replayed struct {
	// DeadLetter is the row that the run resolves if it succeeds: of an edited event it is a new one.
	DeadLetter int64  `json:"dead_letter_id"`
	EventID    string `json:"event_id"`
	// Run is the run that was started. Its RunID is empty if the event was edited and its run could not be started: the
	// edited event is then an open dead letter, which can be replayed.
	Run event.Run `json:"run"`
}
