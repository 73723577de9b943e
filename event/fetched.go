package event

import (
	"encoding/json"
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
	// State is JSON, as the provider wrote it; nil if it is gone.
	State json.RawMessage `json:"-"`
	// Bytes is the size of the state.
	Bytes int `json:"bytes,omitempty"`
}
