package definition

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"holdfast/internal/word"
)

// Error is one error in a definition.
type Error struct {
	// File is the name of the file, without its folder.
	File string
	// Field is the path to the field, such as "auth[0].hmac.signed"; "" for the file as a whole.
	Field string
	// Place is its location, if known.
	Place Place
	// Reason says what is wrong and what to do instead.
	Reason string
}

// Error returns "file:line:column: field: reason".
func (e *Error) Error() string {
	at := e.File + e.Place.String() + ": "
	if e.Field != "" {
		at += e.Field + ": "
	}
	return at + e.Reason
}

// Problems collects the errors of one file, so that all are reported together.
type Problems struct {
	File string
	// Place returns the place of a field, usually File.Place; nil if places aren't needed.
	Place  func(field string) Place
	errs   []error
	fields map[string]bool
}

// Add records an error. Only the first one of a field is kept: the rest follows from it.
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

// OneOf reports a value that isn't one of wanted, and returns the first of them for "".
func (p *Problems) OneOf(field, value string, wanted ...string) string {
	switch {
	case slices.Contains(wanted, value):
		return value
	case value != "":
		p.Add(field, "%q is unknown: want one of %s%s", value, strings.Join(wanted, ", "), didYouMean(value, wanted))
	}
	return wanted[0]
}

// didYouMean returns a question with the closest name; "" if none is close.
func didYouMean(text string, names []string) string {
	if near := word.Nearest(text, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// Required reports a missing value.
func (p *Problems) Required(field, value string) bool {
	if value == "" {
		p.Add(field, "is missing")
	}
	return value != ""
}

// Err joins the errors; nil if there are none.
func (p *Problems) Err() error { return errors.Join(p.errs...) }

// Errors returns every Error that is joined in err.
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

var (
	headerPattern = regexp.MustCompile(`^[a-z0-9!#$%&'*+.^_|~-]+$`)
	secretPattern = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
)

// HeaderName returns the name in lower case, and reports an invalid one.
func (p *Problems) HeaderName(field, name string) string {
	name = strings.ToLower(name)
	if p.Required(field, name) && !headerPattern.MatchString(name) {
		p.Add(field, "%q is not the name of a header", name)
	}
	return name
}

// SecretName reports an invalid name of a secret.
func (p *Problems) SecretName(field, name string) {
	if p.Required(field, name) && !secretPattern.MatchString(name) {
		p.Add(field, "want the name of a secret such as STRIPE_WEBHOOK_SECRET, never the secret itself")
	}
}
