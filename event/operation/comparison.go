package operation

import (
	"encoding/json"
)

// Kinds of differences that an import would find.
const (
	// DiffersMissing: it exists only in the file.
	DiffersMissing = "missing"
	// DiffersExtra: an event of the file's time range and provider exists only here.
	DiffersExtra = "extra"
	// DiffersStatus: an event was handled in one system and is open in the other.
	DiffersStatus = "status"
	// DiffersField: a field of an entity differs. Fields missing from the file aren't compared.
	DiffersField = "field"
)

// ImportDifference is one difference between the other system and this one.
type ImportDifference struct {
	// Line is the line of the file; 0 if it isn't in the file.
	Line   int64        `json:"line,omitempty"`
	Record ImportRecord `json:"record"`
	Differ string       `json:"differs"`
	// Name is the key of an event, or the kind and ID of an entity.
	Provider string `json:"provider"`
	Name     string `json:"name"`
	// EventID is the ID of the event here, if any.
	EventID string `json:"event_id,omitempty"`
	// Field is a JSON pointer into the state, or "status". There and Here are its values in the other system and here.
	Field string          `json:"field,omitempty"`
	There json.RawMessage `json:"imported,omitempty"`
	Here  json.RawMessage `json:"stored,omitempty"`
}

// ImportCompared is the result of comparing one item of a file.
type ImportCompared struct {
	// EventID is the ID of the event that has the key, if any.
	EventID     string
	Differences []ImportDifference
}
