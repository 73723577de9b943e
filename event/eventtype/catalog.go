package eventtype

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"holdfast/event"
)

// Catalog has the compiled types of an installation. It is immutable and safe for concurrent use.
type Catalog struct{ types map[string]compiledType }

type compiledType struct {
	check    Check
	versions map[string]compiledVersion
	// lowest is the version of events that name none.
	lowest string
}

type compiledVersion struct {
	text       json.RawMessage
	deprecated bool
	schema     *schema
}

// NewCatalog compiles types, and takes over from an earlier catalog, which may be nil, what is equal. A type that can't be
// compiled isn't checked, and the error names it.
func NewCatalog(types []EventType, before *Catalog) (*Catalog, error) {
	c := &Catalog{types: map[string]compiledType{}}
	var errs []error
	for _, t := range types {
		one, err := before.compileType(t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.types[t.Name] = one
	}
	return c, errors.Join(errs...)
}

// compileType compiles the versions that it doesn't have.
func (c *Catalog) compileType(t EventType) (compiledType, error) {
	compiled := compiledType{check: t.Checked(), versions: map[string]compiledVersion{}}
	for i, number := range t.Numbers() {
		one, err := c.version(t.Name, number, t.Versions[number])
		if err != nil {
			return compiled, fmt.Errorf("event type %s version %s: %w", t.Name, number, err)
		}
		if compiled.versions[number] = one; i == 0 {
			compiled.lowest = number
		}
	}
	return compiled, nil
}

// version returns the compiled version that it has, or compiles it.
func (c *Catalog) version(name, number string, v TypeVersion) (compiledVersion, error) {
	one := compiledVersion{text: v.Schema, deprecated: v.Deprecated}
	if c != nil {
		if known, ok := c.types[name].versions[number]; ok && bytes.Equal(known.text, v.Schema) {
			one.schema = known.schema
			return one, nil
		}
	}
	var err error
	one.schema, err = compile(v.Schema)
	return one, err
}

// Result says what a check of an event has found.
type Result struct {
	// Check is that of the type; CheckOff if nothing was checked, as for undeclared types.
	Check Check
	// Type is the declared type. Version is "" if the event names one that isn't declared.
	Type, Version string
	// Deprecated reports that the version is.
	Deprecated bool
	Violations []Violation
}

// IsRefused reports that the event must not be accepted.
func (r Result) IsRefused() bool { return r.Check == CheckRefuse && len(r.Violations) > 0 }

// Below adds a prefix to the paths, for an event that is a part of a body.
func (r Result) Below(path string) Result {
	all := make([]Violation, len(r.Violations))
	for i, v := range r.Violations {
		all[i] = Violation{path + v.Path, v.Rule}
	}
	r.Violations = all
	return r
}

// Text describes the violations and the deprecation in one line; "" if there is neither.
func (r Result) Text() string {
	name := r.Type
	if r.Version != "" {
		name += " version " + r.Version
	}
	switch {
	case len(r.Violations) > 0:
		return name + ": " + text(r.Violations)
	case r.Deprecated:
		return name + " is deprecated"
	}
	return ""
}

// CheckEvent checks a published event of a type. Its data are those of its exact bytes. The check takes its steps from those that
// are left for the request, of MaxSteps.
func (c *Catalog) CheckEvent(eventType string, body []byte, left *int) Result {
	t, ok := c.types[eventType]
	if !ok || t.check == CheckOff {
		return Result{Check: CheckOff}
	}
	r := Result{Check: t.check, Type: eventType, Version: t.lowest}
	var fields map[string]json.RawMessage
	if json.Unmarshal(event.WithoutMark(body), &fields) != nil {
		return Result{Check: CheckOff} // it becomes a dead letter
	}
	if named, ok := fields["version"]; ok {
		r.Version = strings.Trim(string(named), `"`)
	}
	version, ok := t.versions[r.Version]
	if !ok {
		r.Version, r.Violations = "", []Violation{{"/version", ruleVersion}}
		return r
	}
	r.Deprecated = version.deprecated
	r.Violations = version.dataViolations(fields["data"], left)
	return r
}

func (v compiledVersion) dataViolations(raw json.RawMessage, left *int) []Violation {
	if raw == nil {
		return []Violation{{"/data", "required"}}
	}
	data, err := decode(raw)
	if err != nil {
		return []Violation{{"/data", ruleLimit}}
	}
	return Result{Violations: v.schema.violations(data, left)}.Below("/data").Violations
}
