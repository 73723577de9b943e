package eventtype

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event/eventtype"
)

// Versions are numbers in the file, and a schema may be a map or true.
func TestAFileIsRead(t *testing.T) {
	t.Parallel()
	types, err := readFile([]byte(`
event_types:
  order.paid:
    check: refuse
    versions:
      1: {schema: {type: object, maximum: 9007199254740993}, example: {id: o1}, deprecated: true}
      "2": {schema: true}
`))
	require.NoError(t, err)
	require.Equal(t, map[string]eventtype.EventType{"order.paid": {
		Check: eventtype.CheckRefuse,
		Versions: map[string]eventtype.TypeVersion{
			"1": {
				Schema:  json.RawMessage(`{"maximum":9007199254740993,"type":"object"}`),
				Example: json.RawMessage(`{"id":"o1"}`), Deprecated: true,
			},
			"2": {Schema: json.RawMessage(`true`)},
		},
	}}, types)
}

func TestMistakesInAFileHaveTheirLine(t *testing.T) {
	t.Parallel()
	for content, problem := range map[string]string{
		"event_types:\n  a:\n    verions: {}\n":                `[3:5] unknown field "verions"`,
		"types: {}\n":                                          `[1:1] unknown field "types"`,
		"event_types:\n  a: {versions: {}}\n  a: {check: x}\n": "[3:3]",
		"event_types: {}\n---\nevent_types: {}\n":              "more than one document",
	} {
		_, err := readFile([]byte(content))
		require.ErrorContains(t, err, problem)
	}
}
