package jq

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Paths are the only places that an expression reads. An expression that may read anything else has none.
func TestPathsOfAnExpression(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][][]string{
		".body.id":             {{"body", "id"}},
		".body.id // .body.ID": {{"body", "id"}, {"body", "ID"}},
		`.body.account // (.body.context | strings | split("/")[-1])`: {{"body", "account"}, {"body", "context"}},
		`.headers["x-id"] // .body.a.b | ascii_downcase`:              {{"headers", "x-id"}, {"body", "a", "b"}},
		".body.id // .":                     nil,
		". | .body.id":                      nil,
		".body.id + .body.x":                nil,
		".body as $b | $b.id":               nil,
		"def f: .body.x; .body.id | f":      nil,
		"select(.body.x) | .body.id":        nil,
		".body.list[0].id":                  nil,
		"(.body.id // .body.ID) | tostring": {{"body", "id"}, {"body", "ID"}},
	} {
		x, err := Compile("type", source)
		require.NoError(t, err, source)
		require.Equal(t, want, x.Paths, source)
	}
}
