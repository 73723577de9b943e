package event

import "time"

// Run names one run of a workflow.
type Run struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
}

// Failure says why an event could not be processed.
type Failure struct {
	Step    Step   `json:"step"`
	Class   Class  `json:"class"`
	Code    string `json:"code"`
	Message string `json:"message"`
	// Attempts is how many counted executions the step had in this run.
	Attempts int `json:"attempts"`
	// At is when the workflow gave up.
	At time.Time `json:"at"`
}

// DeadLetter is an event that the policies could not save, with everything that is needed to understand and replay it.
type DeadLetter struct {
	// ID is the row's own number; 0 before it is stored.
	ID      int64           `json:"id"`
	Receipt Receipt         `json:"receipt"`
	Body    []byte          `json:"-"`
	State   DeadLetterState `json:"state"`
	Run     Run             `json:"run"`
	Failure Failure         `json:"failure"`
	// Failures is how often the event has died, over all its runs.
	Failures    int        `json:"failures"`
	FirstFailed time.Time  `json:"first_failed_at"`
	LastFailed  time.Time  `json:"last_failed_at"`
	ResolvedAt  *time.Time `json:"resolved_at,omitempty"`
	// ResolvedRun is the run that processed the event in the end.
	ResolvedRun string `json:"resolved_run_id,omitempty"`
}
