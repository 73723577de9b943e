package jq

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every name in an expression is found, wherever it is.
func TestReads(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]struct {
		headers, query, path []string
		body                 bool
	}{
		`.headers["x-a"]`:                           {headers: []string{"x-a"}},
		`.headers."x-a"`:                            {headers: []string{"x-a"}},
		`.["headers"]["x-a"]`:                       {headers: []string{"x-a"}},
		`.headers.a // .query.b // .path.c`:         {headers: []string{"a"}, query: []string{"b"}, path: []string{"c"}},
		`"\(.headers.a)-\(.body.x)"`:                {headers: []string{"a"}, body: true},
		`[.headers.a, .body.b] | join(".")`:         {headers: []string{"a"}, body: true},
		`if .headers.a then .query.b else "x" end`:  {headers: []string{"a"}, query: []string{"b"}},
		`. | .headers.a`:                            {headers: []string{"a"}},
		`.headers.a | ascii_downcase`:               {headers: []string{"a"}},
		`{x: .headers.a} | .x`:                      {headers: []string{"a"}},
		`.headers.a as $x | .headers.b + $x`:        {headers: []string{"a", "b"}},
		`(.headers.a | split("/"))[0]`:              {headers: []string{"a"}},
		`-(.headers.a | tonumber)`:                  {headers: []string{"a"}},
		`try .headers.a catch "x"`:                  {headers: []string{"a"}},
		`reduce .headers.a as $x (""; . + $x)`:      {headers: []string{"a"}},
		`select(.headers.a == "x") | .headers.b`:    {headers: []string{"a", "b"}},
		`first(.headers.a, .headers.b)`:             {headers: []string{"a", "b"}},
		`.body | .headers.a`:                        {body: true},
		`.`:                                         {body: true},
		`. as $all | $all.headers.a`:                {body: true},
		`"constant"`:                                {},
		`.headers.a | . as $h | $h`:                 {headers: []string{"a"}},
		`.headers.a == "x" and (.query.b | length)`: {headers: []string{"a"}, query: []string{"b"}},
	} {
		x, err := Compile("test", source)
		require.NoError(t, err, source)
		require.ElementsMatch(t, want.headers, x.Dependencies.Headers, source)
		require.ElementsMatch(t, want.query, x.Dependencies.Query, source)
		require.ElementsMatch(t, want.path, x.Dependencies.Path, source)
		require.Equal(t, want.body, x.Dependencies.Body, source)
	}
}
