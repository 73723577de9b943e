package destination

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/providers/definition"
)

// file is the content of subscriptions.yaml: the desired state, by name.
type file struct {
	Destinations  map[string]delivery.Destination `yaml:"destinations"`
	Subscriptions map[string]activeSubscription   `yaml:"subscriptions"`

	data []byte
	// secrets of destinations that have their own, by name. Only an imported file has any.
	secrets map[string]string
}

// activeSubscription is active unless the file says otherwise.
type activeSubscription struct{ delivery.Subscription }

// UnmarshalYAML decodes over the defaults.
func (a *activeSubscription) UnmarshalYAML(read func(any) error) error {
	a.Subscription = delivery.Subscription{Active: true}
	return read(&a.Subscription)
}

// readFile parses subscriptions.yaml. Errors about unknown, repeated and invalid fields have the line.
func readFile(data []byte) (file, error) {
	var f file
	if err := definition.CheckNesting(data); err != nil {
		return f, err
	}
	documents := yaml.NewDecoder(bytes.NewReader(data), decoding()...)
	if err := documents.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return f, errors.Join(allErrors(data, err)...)
	}
	if err := documents.Decode(&file{}); !errors.Is(err, io.EOF) {
		return f, errors.New("the file has more than one document")
	}
	f.data = data
	return f, f.name()
}

func decoding() []yaml.DecodeOption {
	return []yaml.DecodeOption{yaml.Strict(), yaml.CustomUnmarshaler(readDuration), yaml.CustomUnmarshaler(readJSON)}
}

// readDuration also accepts "30d", as definitions do.
func readDuration(d *event.Duration, text []byte) error {
	var s string
	if err := yaml.Unmarshal(text, &s); err != nil {
		return errors.New("use a duration such as 30s, 2h or 7d")
	}
	span, err := definition.ParseDuration(s)
	if err != nil || span <= 0 {
		return &durationError{s}
	}
	*d = event.Duration(span)
	return nil
}

// durationError is an invalid duration.
type durationError struct{ text string }

func (e *durationError) Error() string {
	return fmt.Sprintf("invalid duration %q: use 30s, 2h or 7d", e.text)
}

// placed adds a position to an error of readDuration, which gets none: that of the first value with the same text.
func placed(err error, data []byte) error {
	var wrong *durationError
	if !errors.As(err, &wrong) {
		return err
	}
	for _, at := range lexer.Tokenize(string(data)) {
		isKey := at.Next != nil && at.Next.Type == token.MappingValueType
		if at.Value == wrong.text && !isKey {
			return &yaml.SyntaxError{Message: wrong.Error(), Token: at}
		}
	}
	return err
}

// readJSON converts YAML to JSON where the API takes JSON.
func readJSON(to *json.RawMessage, text []byte) error {
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return errors.New("use a map of fields")
	}
	var err error
	*to, err = json.Marshal(tree)
	return err
}

// name sets each entry's name from its key, and refuses fields that only a stored row has.
func (f file) name() error {
	for _, name := range sorted(f.Destinations) {
		d := f.Destinations[name]
		if d.ID != 0 || d.Version != 0 || d.Name != "" {
			return fmt.Errorf("destinations.%s: remove id, name and version: its name is its key in the file", name)
		}
		d.Name = name
		f.Destinations[name] = d
	}
	for _, name := range sorted(f.Subscriptions) {
		s := f.Subscriptions[name]
		if s.ID != 0 || s.Version != 0 || s.Name != "" || s.DestinationID != 0 {
			return fmt.Errorf("subscriptions.%s: remove id, name, destination_id and version: its name is its key in the file", name)
		}
		s.Name = name
		f.Subscriptions[name] = s
	}
	return nil
}

// check finds every error in the file with its position. What the file doesn't declare may be stored already.
func (f file) check(stored stored, checkSignature func(json.RawMessage) error) error {
	var errs []error
	add := func(kind, name, field string, err error) {
		if err == nil {
			return
		}
		reason := err.Error()
		if classed := (*event.Error)(nil); errors.As(err, &classed) {
			reason = classed.Text // the code adds nothing here
			if len(classed.Fields) > 0 {
				field = classed.Fields[0].Field
			}
		}
		place := ""
		if at := definition.PlaceOf(f.data, kind+"."+name+"."+field); at.Line > 0 {
			place = fmt.Sprintf("[%d:%d] ", at.Line, at.Column)
		}
		errs = append(errs, fmt.Errorf("%s%s.%s: %s", place, kind, name, reason))
	}
	for _, name := range sorted(f.Destinations) {
		d := f.Destinations[name]
		add("destinations", name, "", d.Check())
		if d.HTTP == nil {
			continue
		}
		if d.HTTP.Signature != nil {
			add("destinations", name, "http.signature", checkSignature(d.HTTP.Signature))
		}
		if was := stored.destinations[name].HTTP; d.HTTP.Secrets != "" && (was == nil || was.Secrets != d.HTTP.Secrets) {
			add("destinations", name, "http.secrets", delivery.CheckVariable(d.HTTP.Secrets))
		}
	}
	for _, name := range sorted(f.Subscriptions) {
		s := f.Subscriptions[name]
		to, declared := f.Destinations[s.To]
		if !declared {
			to, declared = stored.destinations[s.To]
		}
		if s.To != "" && !declared {
			add("subscriptions", name, "to", fmt.Errorf("to: unknown destination %q", s.To))
			continue
		}
		add("subscriptions", name, "", s.CheckFor(to))
	}
	return errors.Join(errs...)
}
