package decode

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A value is written the same for every spelling, and differently from every other value:
//   - white space, the order of fields, escapes, and the number format make no difference
//   - left out values make none either, unless nothing else remains
//   - an empty object is an empty list only for PHP
func TestAValueIsWrittenInOneWay(t *testing.T) {
	t.Parallel()
	forPHP := false
	write := func(body string, without ...string) string {
		v, err := JSONExactly([]byte(body))
		require.NoError(t, err, body)
		var paths [][]string
		for _, path := range without {
			paths = append(paths, strings.Split(path, "."))
		}
		var out strings.Builder
		require.NoError(t, WriteValue(&out, v, paths, forPHP))
		return out.String()
	}
	const body = `{"b":[1,"=>"],"a":{"at":"now","n":1.50,"none":null},"ok":true}`
	for _, same := range []string{
		`{"a": {"n": 15e-1, "at": "now", "none": null}, "ok": true, "b": [1.0, "=\u003e"]}`,
		`{"b":[1,"=>"],"a":{"at":"later","n":1.5,"none":null},"ok":true,"sent":{"try":2}}`,
		`{"b":[1,"=>"],"a":{"n":1.5,"none":null},"ok":true}`,
	} {
		require.Equal(t, write(body, "a.at", "sent"), write(same, "a.at", "sent"), same)
	}
	require.NotEqual(t, write(`{"a":{"at":"now"}}`, "a.at"), write(`{"a":{}}`))
	require.NotEqual(t, write(`{"a":{"at":"now"}}`, "a"), write(`{}`))
	seen := map[string]string{}
	for _, other := range []string{
		body, `{"b":[1],"a":{}}`, `{"b":["1"],"a":{}}`, `{"b":[[1]],"a":{}}`, `{"b":[],"a":[]}`, `{"a":{"b":1}}`, `{"a":{},"b":1}`, `[]`,
		`null`, `"null"`, `false`, `"false"`, `""`, `[null]`, `[""]`, `["a","b"]`, `["a\"1:b"]`, `["\ud800"]`, `["\ud801"]`, `0`, `"0"`,
		`12345678901234567890`, `12345678901234567891`, `{}`, `[{}]`, `{"a":{},"b":{}}`, `{"a":{"b":{}}}`,
	} {
		text := write(other)
		require.NotContains(t, seen, text, "%s and %s", other, seen[text])
		seen[text] = other
	}
	forPHP = true
	require.Equal(t, write(`{"a":{},"b":[{"c":1}]}`, "b"), write(`{"a":[]}`))
	require.NotEqual(t, write(`{"a":{"at":"now"}}`, "a.at"), write(`{"a":[]}`))
	require.NotEqual(t, write(`{"a":{"at":"now"}}`, "a.at"), write(`{"a":{}}`))
}
