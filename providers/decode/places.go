package decode

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Place is a value at a path of an unauthenticated body.
type Place struct {
	// Text is the value: text, a number as it is written, true or false; "" for null.
	Text string
	// Found is false if the value is missing or null.
	Found bool
}

// Places returns the values at dotted paths of a JSON object, or of a form's fields, and builds nothing else. It refuses
// ambiguous bodies: a repeated field on the way, a list with more than one element (a single one is called 0), and a value that
// is an object or a list. In a form FIELD:PATH is a path in the JSON of a field; no other body has such a path. as is how the
// body is decoded, see Decoders.As: authentication must read a body as the decoders do.
func Places(as string, body []byte, paths []string) ([]Place, error) {
	switch as {
	case "multipart":
		fields, err := multipartFields(body)
		if err != nil {
			return nil, err
		}
		return placesOfFields(fields, paths)
	case "form":
		return placesOfForm(body, paths)
	}
	if err := checkText(body); err != nil {
		return nil, err
	}
	p := placer{reader: newReader(body), found: make([]Place, len(paths))}
	p.exact = true
	for _, path := range paths {
		if strings.Contains(path, ":") {
			return nil, errMalformed
		}
		p.wanted = append(p.wanted, strings.Split(path, "."))
	}
	if p.peek() != '{' {
		return nil, errMalformed
	}
	err := p.into(nil)
	if err == nil {
		err = p.end()
	}
	return p.found, err
}

func placesOfForm(body []byte, names []string) ([]Place, error) {
	fields, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, errMalformed
	}
	return placesOfFields(fields, names)
}

func placesOfFields(fields map[string][]string, paths []string) ([]Place, error) {
	found := make([]Place, len(paths))
	for i, path := range paths {
		name, within, isNested := strings.Cut(path, ":")
		values := fields[name]
		switch {
		case len(values) > 1:
			return nil, errMalformed
		case len(values) == 0:
		case isNested:
			places, err := Places("json", []byte(values[0]), []string{within})
			if err != nil {
				return nil, err
			}
			found[i] = places[0]
		default:
			found[i] = Place{values[0], true}
		}
	}
	return found, nil
}

type placer struct {
	reader

	wanted [][]string
	found  []Place
}

// into reads the value at a path that leads to some of the places.
func (p *placer) into(path []string) error {
	switch p.peek() {
	case '{':
		seen := map[string]bool{}
		return p.fields(func(name string) error { return p.step(append(path, name), seen) })
	case '[':
		n := 0
		return p.list('[', ']', func() error {
			if n++; n > 1 {
				return errMalformed
			}
			return p.step(append(path, "0"), map[string]bool{})
		})
	}
	return p.skip()
}

// step reads one field: its value if it is wanted, its fields if those are, and nothing otherwise.
func (p *placer) step(path []string, seen map[string]bool) error {
	name := path[len(path)-1]
	leads := slices.ContainsFunc(p.wanted, func(w []string) bool { return len(w) >= len(path) && slices.Equal(w[:len(path)], path) })
	if !leads {
		return p.skip()
	}
	if seen[name] {
		return errMalformed
	}
	seen[name] = true
	if slices.ContainsFunc(p.wanted, func(w []string) bool { return slices.Equal(w, path) }) {
		return p.wantedValue(path)
	}
	return p.into(slices.Clone(path))
}

func (p *placer) wantedValue(path []string) error {
	if c := p.peek(); c == '{' || c == '[' {
		return errMalformed
	}
	v, err := p.value(nil)
	if err != nil {
		return err
	}
	var place Place
	switch v := v.(type) {
	case string:
		place = Place{v, true}
	case json.Number:
		place = Place{v.String(), true}
	case bool:
		place = Place{map[bool]string{true: "true", false: "false"}[v], true}
	}
	for i, w := range p.wanted {
		if slices.Equal(w, path) {
			p.found[i] = place
		}
	}
	return nil
}
