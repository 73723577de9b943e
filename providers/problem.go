package providers

import (
	"errors"
	"fmt"
	"strings"
)

// DefinitionError is one mistake in a definition.
type DefinitionError struct {
	// File is the name of the file, without its folder.
	File string
	// Field is the path to the field, such as "auth[0].hmac.signed"; "" for the file as a whole.
	Field string
	// Reason says what is wrong and what is wanted.
	Reason string
}

// Error is "file: field: reason".
func (e *DefinitionError) Error() string {
	if e.Field == "" {
		return e.File + ": " + e.Reason
	}
	return e.File + ": " + e.Field + ": " + e.Reason
}

// problems collects the mistakes of one file, so that all are told at once.
type problems struct {
	file   string
	errs   []error
	fields map[string]bool
}

// add notes a mistake. Of one field only the first is told: the rest follows from it.
func (p *problems) add(field, format string, args ...any) {
	field = strings.TrimPrefix(field, ".")
	if p.fields == nil {
		p.fields = map[string]bool{}
	}
	if p.fields[field] {
		return
	}
	p.fields[field] = true
	p.errs = append(p.errs, &DefinitionError{File: p.file, Field: field, Reason: fmt.Sprintf(format, args...)})
}

// oneOf reports a value that is not among the wanted ones, and gives the first of them for "".
func (p *problems) oneOf(field, value string, wanted ...string) string {
	if value == "" {
		return wanted[0]
	}
	for _, w := range wanted {
		if value == w {
			return value
		}
	}
	p.add(field, "%q is unknown: want one of %s", value, strings.Join(wanted, ", "))
	return wanted[0]
}

func (p *problems) required(field, value string) bool {
	if value == "" {
		p.add(field, "is missing")
	}
	return value != ""
}

func (p *problems) err() error { return errors.Join(p.errs...) }

// definitionErrors gives every DefinitionError that is joined in err.
func definitionErrors(err error) []*DefinitionError {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*DefinitionError
		for _, e := range joined.Unwrap() {
			all = append(all, definitionErrors(e)...)
		}
		return all
	}
	var d *DefinitionError
	if errors.As(err, &d) {
		return []*DefinitionError{d}
	}
	return nil
}
