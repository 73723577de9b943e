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

	"holdfast/delivery/declared"
	"holdfast/event"
	"holdfast/providers/definition"
)

// file is the content of subscriptions.yaml: the desired state, by name.
type file struct {
	declared.State

	data []byte
	// secrets of destinations that have their own, by name. Only an imported file has any.
	secrets map[string]string
}

// readFile parses subscriptions.yaml. Errors about unknown, repeated and invalid fields have the line.
func readFile(data []byte) (file, error) {
	var f file
	if err := definition.CheckNesting(data); err != nil {
		return f, err
	}
	documents := yaml.NewDecoder(bytes.NewReader(data), Decoding()...)
	if err := documents.Decode(&f.State); err != nil && !errors.Is(err, io.EOF) {
		return f, errors.Join(allErrors(data, err)...)
	}
	if err := documents.Decode(&declared.State{}); !errors.Is(err, io.EOF) {
		return f, errors.New("the file has more than one document")
	}
	f.data = data
	return f, f.SetNames()
}

// Decoding returns how declarations are decoded from YAML: strictly, with durations such as 30d, and a value where the API takes
// JSON.
func Decoding() []yaml.DecodeOption {
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

type durationError struct{ text string }

func (e *durationError) Error() string {
	return fmt.Sprintf("invalid duration %q: use 30s, 2h or 7d", e.text)
}

// placed adds a position to an error of readDuration, which gets none: the first value with the same text.
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

// ProblemsOf returns the problems that the server found, with their positions in the file.
func ProblemsOf(data []byte, all []declared.Problem) error {
	var errs []error
	for _, p := range all {
		place := ""
		if at := definition.PlaceOf(data, p.In+"."+p.Field); at.Line > 0 {
			place = fmt.Sprintf("[%d:%d] ", at.Line, at.Column)
		}
		errs = append(errs, fmt.Errorf("%s%s: %s", place, p.In, p.Reason))
	}
	return errors.Join(errs...)
}
