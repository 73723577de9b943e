package eventtype

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	dialect = "https://json-schema.org/draft/2020-12/schema"
	// schemaURL is the base of references within a schema. Nothing is ever fetched from it.
	schemaURL = "https://schema.invalid/"
)

// schema is a compiled schema with the meter of its checks.
type schema struct {
	root  *jsonschema.Schema
	meter *meter
}

// compile compiles a JSON Schema of draft 2020-12. Formats are asserted, and references lead only to parts of it.
func compile(text json.RawMessage) (*schema, error) {
	if len(text) > MaxSchema {
		return nil, fmt.Errorf("it has %d bytes, of %d", len(text), MaxSchema)
	}
	document, err := decode(text)
	if err != nil {
		return nil, err
	}
	if err := checkDocument(document, 1); err != nil {
		return nil, err
	}
	m := newMeter()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(m.pattern)
	if err := c.AddResource(schemaURL, document); err != nil {
		return nil, plainError(err)
	}
	root, err := c.Compile(schemaURL)
	if err != nil {
		return nil, plainError(err)
	}
	if err := m.attach(root); err != nil {
		return nil, err
	}
	return &schema{root: root, meter: m}, nil
}

// decode decodes one JSON text. Numbers keep their spelling.
func decode(text []byte) (any, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, errors.New("it is not one JSON value")
	}
	return v, nil
}

// checkDocument bounds the depth and the numbers of a schema, and refuses other dialects.
func checkDocument(v any, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("it is nested deeper than %d levels", MaxDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		if other, ok := v["$schema"].(string); ok && strings.TrimSuffix(other, "#") != dialect {
			return fmt.Errorf("$schema: use %s, or leave it out", dialect)
		}
		for _, value := range v {
			if err := checkDocument(value, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, value := range v {
			if err := checkDocument(value, depth+1); err != nil {
				return err
			}
		}
	case json.Number:
		if !isBounded(v) {
			return errNumber
		}
	}
	return nil
}

var errNumber = fmt.Errorf("a number has more than %d digits, or an exponent beyond %[1]d", maxNumber)

// noLoader refuses references to other documents, also to files.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a $ref can't lead to another document: put its schema into $defs")
}

// plainError turns the library's errors into one line.
func plainError(err error) error {
	var invalid *jsonschema.SchemaValidationError
	if !errors.As(err, &invalid) {
		return errors.New(strings.ReplaceAll(err.Error(), schemaURL+"#", ""))
	}
	var lines []string
	for line := range strings.Lines(invalid.Err.Error()) {
		if at, ok := strings.CutPrefix(strings.TrimSpace(line), "- at "); ok && len(lines) < maxViolations {
			lines = append(lines, at)
		}
	}
	return errors.New("it is not a schema: " + strings.Join(lines, "; "))
}
