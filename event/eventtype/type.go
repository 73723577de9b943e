package eventtype

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// Publisher is the definition with which an installation's own services publish. Only its events are checked.
const Publisher = "events"

// Check says what becomes of a published event that violates its type.
type Check string

// The checks. An empty one is CheckOff.
const (
	// CheckOff doesn't check.
	CheckOff Check = "off"
	// CheckWarn accepts the event, and warns its publisher.
	CheckWarn Check = "warn"
	// CheckRefuse refuses the request.
	CheckRefuse Check = "refuse"
)

// Limits of a declaration. Sizes are in bytes.
const (
	MaxSchema   = 64 << 10
	MaxDepth    = 64
	MaxVersions = 20
	maxText     = 2000
	// MaxTypes and MaxDeclared bound all types of an installation, which each ingress has in memory.
	MaxTypes    = 500
	MaxDeclared = 4 << 20
)

// EventType is a declared event type.
type EventType struct {
	// Name is the type that events have in their field "type".
	Name        string `json:"name,omitempty" jsonschema:"maxLength=128"`
	Description string `json:"description,omitempty" jsonschema:"maxLength=2000"`
	// Check is off (the default), warn or refuse.
	Check Check `json:"check,omitempty" jsonschema:"enum=off,enum=warn,enum=refuse"`
	// Versions by their number: "1", "2".
	Versions map[string]TypeVersion `json:"versions"`
}

// TypeVersion is a version of a type.
type TypeVersion struct {
	// Schema is the JSON Schema, draft 2020-12, of the event's field "data".
	Schema json.RawMessage `json:"schema" jsonschema:"type=object"`
	// Example is valid data.
	Example json.RawMessage `json:"example,omitempty"`
	// Deprecated versions are still accepted; their publishers are warned.
	Deprecated bool `json:"deprecated,omitempty"`
}

// Checked returns the check of its events.
func (t EventType) Checked() Check { return cmp.Or(t.Check, CheckOff) }

// Numbers returns the versions, lowest first.
func (t EventType) Numbers() []string { return sortedNumbers(t.Versions) }

func sortedNumbers[T any](versions map[string]T) []string {
	return slices.SortedFunc(maps.Keys(versions), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) // as numbers: there are no leading zeros
	})
}

// Problem is a mistake in a declaration.
type Problem struct {
	// Field is its path, such as versions.1.schema.
	Field  string
	Reason string
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$`)

// Problems finds all mistakes in a declaration. It compiles each schema, and checks each example against it.
func (t EventType) Problems() (all []Problem) {
	add := func(field, format string, values ...any) {
		all = append(all, Problem{field, fmt.Sprintf(format, values...)})
	}
	if !namePattern.MatchString(t.Name) {
		add("name", "use up to 128 letters, digits and _ . : - and begin with a letter or a digit")
	}
	if len(t.Description) > maxText {
		add("description", "use up to %d bytes", maxText)
	}
	if !slices.Contains([]Check{"", CheckOff, CheckWarn, CheckRefuse}, t.Check) {
		add("check", "use off, warn or refuse")
	}
	if n := len(t.Versions); n == 0 || n > MaxVersions {
		add("versions", "declare 1 to %d versions", MaxVersions)
		return all
	}
	for _, number := range t.Numbers() {
		if n, err := strconv.ParseUint(number, 10, 31); err != nil || n == 0 || strconv.FormatUint(n, 10) != number {
			add("versions."+number, "use a whole number from 1 on")
		}
		if field, err := t.Versions[number].check(); err != nil {
			add("versions."+number+"."+field, "%s", err)
		}
	}
	return all
}

// check returns the wrong field, and why it is wrong.
func (v TypeVersion) check() (field string, err error) {
	compiled, err := compile(v.Schema)
	if err != nil {
		return "schema", err
	}
	if v.Example == nil {
		return "", nil
	}
	if len(v.Example) > MaxSchema {
		return "example", fmt.Errorf("it has %d bytes, of %d", len(v.Example), MaxSchema)
	}
	data, err := decode(v.Example)
	if err != nil {
		return "example", err
	}
	steps := maxSteps
	if found := compiled.violations(data, &steps); len(found) > 0 {
		return "example", fmt.Errorf("it violates the schema: %s", text(found))
	}
	return "", nil
}
