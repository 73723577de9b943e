package jq

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A name doesn't contain null: in jq null is the empty text in a sum, and "null" within a text.
func TestNamesAreMadeOfNoNull(t *testing.T) {
	t.Parallel()
	in := NewInput(nil, nil, nil, map[string]any{"id": "7", "n": 7, "list": []any{"a", nil}}, nil)
	for source, want := range map[string]any{
		`"order:" + .body.id`:                       "order:7",
		`"a" + .body.id + "b" + .body.id`:           "a7b7",
		`"order:\(.body.id)-\(.body.n)"`:            "order:7-7",
		`"order:" + (.body.nothing // "none")`:      "order:none",
		`"order:\(.body.nothing // "none")"`:        "order:none",
		`["a", .body.id] | join(":")`:               "a:7",
		`.body.n | tostring`:                        "7",
		`if .body.nothing then "x" else "y" end`:    "y",
		`def id: "o:" + .body.id; id`:               "o:7",
		`[.body.list[] | select(. != null)] | add`:  "a",
		`.body | .id += "0" | .id`:                  "70",
		`.body | .n += 1 | .n`:                      8,
		`.body | .id += .id | .id`:                  "77",
		`.body.n | @text`:                           "7",
		`.body.id | @uri`:                           "7",
		`.body.nothing`:                             nil, // isn't text, and authors who want one write so
		`"order:" + .body.nothing`:                  errNull,
		`.body.nothing + "order"`:                   errNull,
		`"order:" + .body.nothing + ":" + .body.id`: errNull,
		`"order:\(.body.nothing)"`:                  errNull,
		`"order:\("x" + .body.nothing)"`:            errNull,
		`@base64 "\(.body.nothing)"`:                errNull,
		`["a", .body.nothing] | join(":")`:          errNull,
		`["a", .body.nothing] | add`:                errNull,
		`.body | .id += .nothing | .id`:             errNull,
		`.body | .nothing += "order" | .nothing`:    errNull,
		`.body.nothing | @text`:                     errNull,
		`.body.nothing | @json`:                     errNull,
		`["a", .body.nothing] | @csv`:               errNull,
		`.body.nothing | tostring`:                  errNull,
		`.body.nothing | tojson`:                    errNull,
		`def id: "o:" + .body.nothing; id`:          errNull,
	} {
		x, err := CompileName("workflow_id", source)
		require.NoError(t, err, source)
		got, err := x.First(context.Background(), in, nil)
		if _, fails := want.(error); fails {
			require.ErrorIs(t, err, errNull, source)
			require.Equal(t, "jq_null", x.Failed(err).Code)
			continue
		}
		require.NoError(t, err, source)
		require.Equal(t, want, got, source)
	}
	x, err := Compile("filter", `"order:" + .body.nothing`)
	require.NoError(t, err)
	got, err := x.Once(in)
	require.NoError(t, err)
	require.Equal(t, "order:", got, "elsewhere jq stays jq")
}
