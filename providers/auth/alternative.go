package auth

import (
	"strings"

	"holdfast/providers/definition"
)

// alternative is one of a definition's schemes, and the header that chooses it.
type alternative struct {
	scheme
	when choice
}

// choice is the value of a header, or of one of its fields, that chooses a scheme; empty for a default.
type choice struct{ header, field, value string }

func newChoice(p *definition.Problems, field string, d *definition.Choice) choice {
	if d == nil {
		return choice{}
	}
	p.Required(field+".value", d.Value)
	return choice{p.HeaderName(field+".header", d.Header), d.Field, d.Value}
}

func (a alternative) isDefault() bool { return a.when == choice{} }

func (a alternative) name() string {
	if a.isDefault() {
		return a.scheme.name()
	}
	return a.scheme.name() + ", if " + a.when.header + " says " + a.when.value
}

// chosen returns the indexes of the schemes to try: those that a header of the request chooses, otherwise those without a
// choice. Since the header isn't signed, it must not have a scheme accept the secret of another one. It fails if the header
// appears twice.
func (a *Authenticator) chosen(r *Request) (indexes []int, err error) {
	var defaults []int
	for i, s := range a.schemes {
		if s.isDefault() {
			defaults = append(defaults, i)
			continue
		}
		header, err := r.header(s.when.header)
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(s.when.of(header), s.when.value) {
			indexes = append(indexes, i)
		}
	}
	if len(indexes) == 0 {
		return defaults, nil
	}
	return indexes, nil
}

// of returns the value in a header: the first that isn't empty, if it has fields.
func (c choice) of(header string) string {
	if c.field == "" {
		return strings.TrimSpace(header)
	}
	for pair := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(pair, "=")
		if value = strings.TrimSpace(value); strings.TrimSpace(name) == c.field && value != "" {
			return value
		}
	}
	return ""
}

// announce sets the header in a signed request.
func (c choice) announce(r *Request) {
	if c.header == "" {
		return
	}
	value := c.value
	if c.field != "" {
		value = c.field + "=" + value
	}
	r.SetHeader(c.header, value)
}
