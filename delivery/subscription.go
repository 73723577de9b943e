package delivery

import "encoding/json"

// Subscription says which events go to a destination, and in what form. To an HTTP endpoint goes Body; to a Temporal goes exactly
// one of Start, Signal and SignalWithStart.
type Subscription struct {
	// ID is the row's own number; 0 before it is stored.
	ID   int64  `json:"id,omitempty"`
	Name string `json:"name"`
	// To is the name of the destination.
	To            string `json:"to"`
	DestinationID int64  `json:"destination_id,omitempty"`
	Events        Events `json:"events"`
	// Active says whether events that are processed from now on are delivered. What waits is delivered all the same.
	Active bool `json:"active"`

	// Body is "raw" or "", the bytes that came; "envelope"; or jq, whose first value is sent as JSON.
	Body string `json:"body,omitempty"`

	Start           *Start           `json:"start,omitempty"`
	Signal          *Signal          `json:"signal,omitempty"`
	SignalWithStart *SignalWithStart `json:"signal_with_start,omitempty"`

	// Version is that of the change that made it what it is.
	Version int64 `json:"version,omitempty"`
}

// The forms of a body that have a name. BodyEnvelope names an argument of a workflow or a signal, too.
const (
	BodyRaw      = "raw"
	BodyEnvelope = "envelope"
)

// Events selects events. Empty fields do not restrict.
type Events struct {
	Providers []string `json:"providers,omitempty"`
	// Types are globs: "customer.*".
	Types []string `json:"types,omitempty"`
	// Filter is jq that has to give true, for the input of Message.Input. Where it is, or joins by "and", a part that compares a
	// path with a text, a number or a boolean (.body.account == "a7"), the first such part is looked up before anything of the
	// filter runs: where the path leads nowhere, or to another value, the event does not match.
	Filter string `json:"filter,omitempty"`
}

// Start starts a workflow for each event. Every field of type JQ is an expression for the input of Message.Input.
type Start struct {
	WorkflowID JQ     `json:"workflow_id"`
	Type       string `json:"type"`
	// Input are the arguments: each is jq, or the word "envelope".
	Input []JQ `json:"input,omitempty"`
	// SearchAttributes are by name.
	SearchAttributes map[string]JQ `json:"search_attributes,omitempty"`
	Summary          JQ            `json:"summary,omitempty"`
	// PriorityKey is 1 to 5; 0 is none.
	PriorityKey int `json:"priority_key,omitempty"`
	FairnessKey JQ  `json:"fairness_key,omitempty"`
	// IfExists says what becomes of an event whose workflow somebody else has started: "delivered" or "" (with the code
	// "existing"), or "dead_letter".
	IfExists string `json:"if_exists,omitempty"`
}

// Signal signals a workflow that runs.
type Signal struct {
	WorkflowID  JQ     `json:"workflow_id"`
	SignalName  string `json:"signal_name"`
	SignalInput []JQ   `json:"signal_input,omitempty"`
}

// SignalWithStart signals a workflow, and starts it if it does not run.
type SignalWithStart struct {
	Start `yaml:",inline"`

	SignalName  string `json:"signal_name"`
	SignalInput []JQ   `json:"signal_input,omitempty"`
	// IfClosed says what happens if the workflow has ended: "start" or "" (a new run), "skip", "dead_letter".
	IfClosed string `json:"if_closed,omitempty"`
}

// JQ is the source of an expression.
type JQ string

// Settings are the subscription without what has columns of its own.
func (s Subscription) Settings() (json.RawMessage, error) {
	s.ID, s.Name, s.To, s.DestinationID, s.Active, s.Version = 0, "", "", 0, false, 0
	return json.Marshal(s)
}

// Removed is what has gone with a subscription.
type Removed struct {
	// Canceled counts the deliveries that waited for it.
	Canceled int64 `json:"canceled"`
	// Destination is the name of the destination that had its name and served nothing else; "" if there was none.
	Destination string `json:"destination,omitempty"`
}
