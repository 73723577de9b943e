package decode

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Places finds the parts of a body that a signature covers exactly where a JSON parser finds them, or not at all.
func TestPlaces(t *testing.T) {
	t.Parallel()
	paths := []string{"a", "b.c", "l.0.x"}
	for body, want := range map[string][]Place{
		`{"a":"x","b":{"c":1.50},"l":[{"x":true,"y":[1,2]}],"z":[1,{"a":2}]}`: {{"x", true}, {"1.50", true}, {"true", true}},
		`{"a":null,"b":{},"l":[]}`:    {{}, {}, {}},
		`{"a":"\u00e9\n","b":"text"}`: {{"é\n", true}, {}, {}},
		`{}`:                          {{}, {}, {}},
	} {
		got, err := Places("json", []byte(body), paths)
		require.NoError(t, err, body)
		require.Equal(t, want, got, body)
	}
	for _, body := range []string{
		`{"a":1,"a":2}`, `{"b":{"c":1},"b":{"c":2}}`, `{"b":{"c":1,"c":1}}`, `{"l":[{"x":1},{"x":2}]}`, `{"a":{}}`, `{"a":[1]}`,
		`[{"a":1}]`, `{"a":1} {}`, `{"a":`, ``, "\xff",
	} {
		_, err := Places("text", []byte(body), paths)
		require.Error(t, err, body)
	}
	got, err := Places("form", []byte("a=x%3D&c=2"), []string{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, []Place{{"x=", true}, {}}, got)
	_, err = Places("form", []byte("a=1&a=2"), []string{"a"})
	require.Error(t, err)
	got, err = Places("form", []byte(`j={"a":1}`), []string{"j:a"})
	require.NoError(t, err)
	require.Equal(t, []Place{{"1", true}}, got)
	_, err = Places("json", []byte(`{"j:a":1}`), []string{"j:a"})
	require.Error(t, err, "a path in a field of a form names nothing in JSON")
}
