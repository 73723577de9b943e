package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Fetch says what is fetched for an event.
type Fetch struct {
	// From is the request, without what the event names: "GET api.example.com/payments/{id}".
	From   string `json:"from"`
	Policy Policy `json:"policy"`
}

// Fetched is the state of what an event names, as the provider's API had it.
type Fetched struct {
	// At is when the request began: the state is at least as new.
	At time.Time `json:"at"`
	// Gone means that the provider no longer has it.
	Gone bool `json:"gone,omitempty"`
	// State is JSON, as the provider wrote it; nil if it is gone. The states of further GETs follow, each on a new line.
	State json.RawMessage `json:"-"`
	// Bytes is the size of the state.
	Bytes int `json:"bytes,omitempty"`
}

// States returns the state of each GET, in their order.
func (f Fetched) States() (states []json.RawMessage, err error) {
	for d := json.NewDecoder(bytes.NewReader(f.State)); ; {
		var state json.RawMessage
		if err := d.Decode(&state); errors.Is(err, io.EOF) {
			return states, nil
		} else if err != nil {
			return nil, fmt.Errorf("decode the fetched states: %w", err)
		}
		states = append(states, state)
	}
}

// And returns f with the state of one more GET, which is null if the provider doesn't have it.
func (f Fetched) And(state json.RawMessage) Fetched {
	if state == nil {
		state = json.RawMessage("null")
	}
	f.State = slices.Concat(f.State, json.RawMessage("\n"), state)
	f.Bytes = len(f.State)
	return f
}
