package definition

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/word"
)

// Error is one mistake in a definition.
type Error struct {
	// File is the name of the file, without its folder.
	File string
	// Field is the path to the field, such as "auth[0].hmac.signed"; "" for the file as a whole.
	Field string
	// Place is where it stands, as far as that is known.
	Place Place
	// Reason says what is wrong and what is wanted.
	Reason string
}

// Error is "file:line:column: field: reason".
func (e *Error) Error() string {
	at := e.File + e.Place.String() + ": "
	if e.Field != "" {
		at += e.Field + ": "
	}
	return at + e.Reason
}

// Problems collects the mistakes of one file, so that all are reported at once.
type Problems struct {
	File string
	// Place finds where a field stands; nil finds none.
	Place  func(field string) Place
	errs   []error
	fields map[string]bool
}

// Add notes a mistake. Of one field only the first is reported: the rest follows from it.
func (p *Problems) Add(field, format string, args ...any) {
	field = strings.TrimPrefix(field, ".")
	if p.fields == nil {
		p.fields = map[string]bool{}
	}
	if p.fields[field] {
		return
	}
	p.fields[field] = true
	e := &Error{File: p.File, Field: field, Reason: fmt.Sprintf(format, args...)}
	if p.Place != nil {
		e.Place = p.Place(field)
	}
	p.errs = append(p.errs, e)
}

// OneOf reports a value that is not among the wanted ones, and gives the first of them for "".
func (p *Problems) OneOf(field, value string, wanted ...string) string {
	switch {
	case slices.Contains(wanted, value):
		return value
	case value != "":
		p.Add(field, "%q is unknown: want one of %s%s", value, strings.Join(wanted, ", "), didYouMean(value, wanted))
	}
	return wanted[0]
}

// didYouMean is a question after a text that is none of those that there are; "" where none is near.
func didYouMean(text string, names []string) string {
	if near := word.Nearest(text, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// Required reports a value that is missing.
func (p *Problems) Required(field, value string) bool {
	if value == "" {
		p.Add(field, "is missing")
	}
	return value != ""
}

// Err joins the mistakes; nil if there are none.
func (p *Problems) Err() error { return errors.Join(p.errs...) }

// Errors gives every Error that is joined in err.
func Errors(err error) []*Error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*Error
		for _, e := range joined.Unwrap() {
			all = append(all, Errors(e)...)
		}
		return all
	}
	var d *Error
	if errors.As(err, &d) {
		return []*Error{d}
	}
	return nil
}
