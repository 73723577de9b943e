package operation

import (
	"encoding/json"

	"holdfast/event"
)

// Import imports data of another system. Its lines are stored when it is created, and applied page by page.
type Import struct {
	Base

	// Name is the name of the file.
	Name string `json:"name"`

	// Total counts the lines.
	Total int64 `json:"total"`
	// Read counts the applied lines.
	Read int64 `json:"read"`
	// Counts counts the results by record type.
	Counts ImportCounts `json:"counts"`
	// Problems lists the first items that couldn't be applied, up to 20.
	Problems []ImportProblem `json:"problems,omitempty" jsonschema:"maxItems=20"`
}

// Share returns the progress, from 0 to 1.
func (i Import) Share() float64 {
	if i.Total == 0 || i.State == Completed {
		return 1
	}
	return float64(i.Read) / float64(i.Total)
}

// ImportCounts are counts by record type.
type ImportCounts map[ImportRecord]ImportCount

// Add counts the result of one item.
func (c ImportCounts) Add(r ImportRecord, became ImportOutcome) {
	n := c[r]
	switch became {
	case ImportNew:
		n.New++
	case ImportThere:
		n.There++
	case ImportUnreadable:
		n.New++
		n.Unreadable++
	case ImportFailed:
		n.Failed++
	}
	c[r] = n
}

// AddAll adds other counts.
func (c ImportCounts) AddAll(more ImportCounts) {
	for r, m := range more {
		n := c[r]
		c[r] = ImportCount{
			New: n.New + m.New, There: n.There + m.There, Unreadable: n.Unreadable + m.Unreadable, Failed: n.Failed + m.Failed,
		}
	}
}

// Sum returns the total of all record types.
func (c ImportCounts) Sum() (n ImportCount) {
	for _, m := range c {
		n.New, n.There, n.Unreadable, n.Failed = n.New+m.New, n.There+m.There, n.Unreadable+m.Unreadable, n.Failed+m.Failed
	}
	return n
}

// ImportCount counts results.
type ImportCount struct {
	// New counts the created items.
	New int64 `json:"new"`
	// There counts items that existed, or about which an operator has decided. Nothing was changed.
	There int64 `json:"there"`
	// Unreadable counts the new events that the current definition can't parse. They are dead letters.
	Unreadable int64 `json:"unreadable,omitempty"`
	// Failed counts items that the database rejected. They are listed as problems.
	Failed int64 `json:"failed,omitempty"`
}

// ImportOutcome is the result of one item.
type ImportOutcome string

// The outcomes that ImportCount counts.
const (
	ImportNew        ImportOutcome = "new"
	ImportThere      ImportOutcome = "there"
	ImportUnreadable ImportOutcome = "unreadable"
	ImportFailed     ImportOutcome = "failed"
)

// ImportProblem is a line that couldn't be applied. The message contains no payload.
type ImportProblem struct {
	// Line is the line of the file, from 1.
	Line    int64        `json:"line"`
	Record  ImportRecord `json:"record"`
	Class   event.Class  `json:"class"`
	Code    string       `json:"code"`
	Message string       `json:"message"`
}

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
