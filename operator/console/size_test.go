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

// A body is shown with its quotes as they are, which make up a tenth of JSON: escaped, the page would be larger than 100 kB. That
// makes nothing of it an element, or a form's value, which keeps directional characters.
func TestABodyIsShownInItsOwnSize(t *testing.T) {
	t.Parallel()
	c := New(Options{API: &api.API{}})
	shown := func(body string) string {
		data := eventPage{BodyView: viewBody(api.Content{Raw: []byte(body)}, "raw", false)}
		page, err := c.Fragment("event", "content", frame.View{Page: frame.Page{Data: data}})
		require.NoError(t, err)
		return string(page)
	}
	require.Less(t, len(shown(strings.Repeat(`{"id":"1"}`, api.MaxShown/10))), 100_000)

	page := shown("</pre><script>&lt;</script> a=\"b\" value=\"\u202e\" value=\"")
	require.Contains(t, page, ">&lt;/pre&gt;&lt;script&gt;&amp;lt;&lt;/script&gt; a=\"b\" value=\"\\u202e\" value=\"</pre>")
	require.NotContains(t, page, "\u202e")
}
