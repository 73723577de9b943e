package operation

import (
	"encoding/json"
)

// What an import would find different.
const (
	// DiffersMissing: it is in the file, and not here.
	DiffersMissing = "missing"
	// DiffersExtra: an event is here, of the time and provider of the file, and not in the file.
	DiffersExtra = "extra"
	// DiffersStatus: an event was handled in one of the two, and waits in the other.
	DiffersStatus = "status"
	// DiffersField: a field of an entity has another value. Fields that the file does not name are not compared.
	DiffersField = "field"
)

// ImportDifference is one thing in which what another system has is not what is here.
type ImportDifference struct {
	// Line is where the file says so; 0 of what is not in it.
	Line   int64        `json:"line,omitempty"`
	Record ImportRecord `json:"record"`
	Differ string       `json:"differs"`
	// Provider and Name say what it is: the key of an event, or the kind and ID of an entity.
	Provider string `json:"provider"`
	Name     string `json:"name"`
	// EventID is that of the event here; "" where there is none.
	EventID string `json:"event_id,omitempty"`
	// Field is a JSON pointer into the state, or "status". There and Here are its values in the other system and here; nil is none.
	Field string          `json:"field,omitempty"`
	There json.RawMessage `json:"there,omitempty"`
	Here  json.RawMessage `json:"here,omitempty"`
}

// ImportCompared is what is here of one thing of a file.
type ImportCompared struct {
	// EventID is that of the event which has the key; "" where nothing has it.
	EventID string
	// Differences are none where it is the same.
	Differences []ImportDifference
}
