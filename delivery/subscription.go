package delivery

import "encoding/json"

// Subscription selects the events for a destination, and their form. An HTTP endpoint or a queue gets Body; a Temporal
// destination uses exactly one of Start, Signal and SignalWithStart.
type Subscription struct {
	// ID is assigned when the subscription is stored.
	ID int64 `json:"id,omitempty" jsonschema:"required"`
	// Name is 1 to 63 characters of a-z, 0-9, "-", "_" and ".".
	Name string `json:"name"`
	// To is the name of the destination.
	To            string `json:"to"`
	DestinationID int64  `json:"destination_id,omitempty"`
	Events        Events `json:"events"`
	// Active: new events are matched. Deliveries already queued go out either way.
	Active bool `json:"active"`
	// OrderBy is a jq expression over Message.Input. Deliveries for which it yields the same key go out one at a time, in the order
	// of the change feed; "" means without order. See OrderKey for its values.
	OrderBy JQ `json:"order_by,omitempty"`

	// Body is "raw" or "" for the received bytes, "envelope", or "cloudevents" for a CloudEvent as JSON. "cloudevents-binary" is the
	// received bytes with the CloudEvent's attributes as headers. Anything else is a jq expression, whose first value is sent as
	// JSON.
	Body string `json:"body,omitempty"`

	Start           *Start           `json:"start,omitempty"`
	Signal          *Signal          `json:"signal,omitempty"`
	SignalWithStart *SignalWithStart `json:"signal_with_start,omitempty"`

	// Version identifies the last change.
	Version int64 `json:"version,omitempty"`
}

// Named forms of a body. BodyEnvelope also names an argument of a workflow or signal.
const (
	BodyRaw      = "raw"
	BodyEnvelope = "envelope"
	// BodyCloudEvents and BodyCloudEventsBinary are the structured and the binary mode of CloudEvents 1.0.
	BodyCloudEvents       = "cloudevents"
	BodyCloudEventsBinary = "cloudevents-binary"
)

// Events selects events; empty fields match everything.
type Events struct {
	Providers []string `json:"providers,omitempty"`
	// Types are globs: "customer.*".
	Types []string `json:"types,omitempty"`
	// Filter is a jq expression over Message.Input that must yield true. If it is, or joins by "and", a comparison of a path with a
	// string, number or boolean (.body.account == "a7"), the first such comparison is indexed. Then an event whose path is missing
	// or has another value doesn't match, and the filter isn't run.
	Filter string `json:"filter,omitempty"`
}

// Start starts a workflow for each event. Fields of type JQ are expressions over Message.Input.
type Start struct {
	// WorkflowID is a jq expression.
	WorkflowID JQ     `json:"workflow_id"`
	Type       string `json:"type"`
	// Input lists the arguments: jq, or the word "envelope".
	Input []JQ `json:"input,omitempty"`
	// SearchAttributes are jq expressions by name.
	SearchAttributes map[string]JQ `json:"search_attributes,omitempty"`
	// Summary is a jq expression.
	Summary JQ `json:"summary,omitempty"`
	// PriorityKey is 1 to 5; 0 means none.
	PriorityKey int `json:"priority_key,omitempty" jsonschema:"minimum=0,maximum=5"`
	// FairnessKey is a jq expression.
	FairnessKey JQ `json:"fairness_key,omitempty"`
	// IfExists decides what happens if another client has already started the workflow: "delivered" or "" (with code "existing"), or
	// "dead_letter".
	IfExists string `json:"if_exists,omitempty" jsonschema:"enum=,enum=delivered,enum=dead_letter"`
}

// Signal signals a running workflow.
type Signal struct {
	// WorkflowID is a jq expression.
	WorkflowID JQ     `json:"workflow_id"`
	SignalName string `json:"signal_name"`
	// SignalInput lists the arguments: jq, or the word "envelope".
	SignalInput []JQ `json:"signal_input,omitempty"`
}

// SignalWithStart signals a workflow, and starts it first if it isn't running.
type SignalWithStart struct {
	Start `yaml:",inline"`

	SignalName string `json:"signal_name"`
	// SignalInput lists the arguments: jq, or the word "envelope".
	SignalInput []JQ `json:"signal_input,omitempty"`
	// IfClosed decides what happens if the workflow has ended: "start" or "" (a new run), "skip", or "dead_letter".
	IfClosed string `json:"if_closed,omitempty" jsonschema:"enum=,enum=start,enum=skip,enum=dead_letter"`
}

// JQ is a jq expression.
type JQ string

// Settings returns the JSON of the fields without columns of their own.
func (s Subscription) Settings() (json.RawMessage, error) {
	s.ID, s.Name, s.To, s.DestinationID, s.Active, s.Version = 0, "", "", 0, false, 0
	return json.Marshal(s)
}

// Removed describes what was deleted with a subscription.
type Removed struct {
	// Canceled counts its pending deliveries.
	Canceled int64 `json:"canceled"`
	// Destination is the name of the destination deleted with it, which had the same name and no other subscription; "" if none.
	Destination string `json:"destination,omitempty"`
}
