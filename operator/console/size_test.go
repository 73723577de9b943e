package console

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator/api"
	"holdfast/operator/console/frame"
)

// A long body with deep nesting would take gigabytes to indent.
func TestALargeBodyIsNotIndented(t *testing.T) {
	t.Parallel()
	const depth = 5000
	bomb := strings.Repeat("[", depth) + "1" + strings.Repeat(",1", 10_000) + strings.Repeat("]", depth)
	shown := viewBody(api.Content{JSON: json.RawMessage(bomb)}, "", true)
	require.Len(t, shown.Text, len(bomb))

	wide := `{"a":["[[[[,\"",{"n":12345678901234567890.10e400}]}`
	require.Equal(t, "{\n  \"a\": [\n    \"[[[[,\\\"\",\n    {\n      \"n\": 12345678901234567890.10e400\n    }\n  ]\n}", frame.Indented([]byte(wide)))
	large := "[1" + strings.Repeat(",1", 500_000) + "]"
	require.Greater(t, len(frame.Indented([]byte(large))), len(large))
}
