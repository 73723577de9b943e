package jq

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLiteralPrefix(t *testing.T) {
	t.Parallel()
	for source, wanted := range map[string]string{
		`"order:" + .body.id`:                "order:",
		`"order:\(.body.id)"`:                "order:",
		`("order:" + .body.id) + "-1"`:       "order:",
		`"order"`:                            "order",
		`"\("order:")\(.body.id)"`:           "order:",
		`"\(.body.id):order"`:                "",
		`.body.id + ":order"`:                "",
		`"order:" + .body.id | ascii_upcase`: "",
		`"order:" + .body.id, "other"`:       "",
		`@base64 "order:"`:                   "",
		`"order:"[2:]`:                       "",
		`"order:" as $x | .body.id`:          "",
		`def f: "x"; "order:"`:               "",
		`"order:" // .body.id`:               "",
		`"order:`:                            "",
		``:                                   "",
	} {
		require.Equal(t, wanted, LiteralPrefix(source), source)
	}
}
