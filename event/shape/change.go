package shape

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ChangeKind says how an event differs from those before it.
type ChangeKind string

// The kinds of changes.
const (
	// NewField is a field that no earlier event had.
	NewField ChangeKind = "new_field"
	// SometimesMissing is a field that all earlier events had and one didn't.
	SometimesMissing ChangeKind = "sometimes_missing"
	// MissingField is a field that at least half of the earlier events had and the last 20 didn't.
	MissingField ChangeKind = "missing_field"
	// Retyped is a field with a value of another JSON type.
	Retyped ChangeKind = "retyped"
	// NewValue is a text that differs from the few that a field had before.
	NewValue ChangeKind = "new_value"
)

// FieldChange is a difference between an event and those before it.
type FieldChange struct {
	Path string     `json:"path"`
	Kind ChangeKind `json:"kind"`
	// From and To are the JSON types before, and the new one, of a retyped field.
	From []Kind `json:"from,omitempty"`
	To   Kind   `json:"to,omitempty"`
	// Since is when the first such event was received, and EventID its ID.
	Since   time.Time `json:"since"`
	EventID string    `json:"event_id" jsonschema:"format=uuid"`
	// ReadBy are the rules of the definition that need the field, or one below it.
	ReadBy []string `json:"read_by,omitempty"`
}

// OpenFor is how long a change counts as open, for alerts; keepChanges is how long it is listed.
const (
	OpenFor     = 7 * 24 * time.Hour
	keepChanges = 30 * 24 * time.Hour
)

// Breaks reports whether rules may find nothing, or something else, because of the change.
func (c FieldChange) Breaks() bool {
	switch c.Kind {
	case SometimesMissing, MissingField:
		return len(c.ReadBy) > 0
	case Retyped:
		wasNull := len(c.From) == 1 && c.From[0] == Null
		return len(c.ReadBy) > 0 && !wasNull && !isNumeric(append(slices.Clone(c.From), c.To)...)
	default:
		return false
	}
}

// Text says what changed.
func (c FieldChange) Text() string {
	switch c.Kind {
	case NewField:
		return "new field"
	case SometimesMissing:
		return "missing in some events"
	case MissingField:
		return "missing in all events"
	case Retyped:
		return fmt.Sprintf("%s, was %s", c.To, Kinds(c.From))
	case NewValue:
		return "new value"
	}
	return string(c.Kind)
}

// Kinds joins kinds for people.
func Kinds(all []Kind) string {
	var names []string
	for _, k := range all {
		names = append(names, string(k))
	}
	return strings.Join(names, " or ")
}

// Read is a path of the body that a rule of a definition reads.
type Read struct {
	Path, Rule string
	// HasOther is set if the rule takes another path where this one is missing or null.
	HasOther bool
}

// readers returns the rules that read a path.
func readers(reads []Read, path string) (rules []string) {
	for _, r := range reads {
		if r.Path == path && !slices.Contains(rules, r.Rule) {
			rules = append(rules, r.Rule)
		}
	}
	return rules
}

// Related returns changes with the rules that need their fields.
func Related(changes []FieldChange, reads []Read) []FieldChange {
	all := slices.Clone(changes)
	for i := range all {
		all[i].ReadBy = all[i].dependents(reads)
	}
	return all
}

// dependents returns the rules that need the field, or one below it.
func (c FieldChange) dependents(reads []Read) (rules []string) {
	isMissing := c.Kind == SometimesMissing || c.Kind == MissingField || c.To == Null
	for _, r := range reads {
		if isMissing && r.HasOther {
			continue
		}
		if isWithin(r.Path, c.Path) && !slices.Contains(rules, r.Rule) {
			rules = append(rules, r.Rule)
		}
	}
	return rules
}
