package decode

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/definition"
)

// unverified returns a token around a payload: decoding doesn't verify it.
func unverified(payload string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".AA"
}

func readerOfTokens(t *testing.T, d definition.Decode) *Decoders {
	t.Helper()
	var p definition.Problems
	all := New(&p, []definition.Decode{d})
	require.NoError(t, p.Err())
	return &all
}

// Tokens in the payload of a token are replaced by their payloads:
//   - at the paths of the definition only, and not within such a payload
//   - a missing one is left out; a text that is no token, and a payload that is no object, make a dead letter
//   - a field that identifies the event must not be there twice, in any of them
func TestTokensInATokenAreRead(t *testing.T) {
	t.Parallel()
	all := readerOfTokens(t, definition.Decode{JWTField: "signed", Tokens: []string{"data.a", "data.b", "top"}})
	all.Identity = [][]string{{"data", "a", "id"}}
	within := func(payload string) []byte {
		body, err := json.Marshal(map[string]string{"signed": unverified(payload)})
		require.NoError(t, err)
		return body
	}
	quoted := func(s string) string { return `"` + unverified(s) + `"` }
	inner := `{"id":1,"top":` + quoted(`{}`) + `}`
	v, err := all.Decode("", within(`{"id":"e","data":{"a":`+quoted(inner)+`,"c":`+quoted(`{}`)+`},"top":`+quoted(`{"x":[2]}`)+`}`))
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"id": "e", "data": map[string]any{"a": map[string]any{"id": json.Number("1"), "top": unverified(`{}`)}, "c": unverified(`{}`)},
		"top": map[string]any{"x": []any{json.Number("2")}},
	}, v)
	v, err = all.Decode("", within(`{"data":null}`))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"data": nil}, v)
	for payload, code := range map[string]string{
		`{"data":{"a":"x.y"}}`: "invalid_token", `{"data":{"a":{"id":1}}}`: "invalid_token", `{"data":{"a":1}}`: "invalid_token",
		`{"data":{"b":` + quoted(`[]`) + `}}`:                   "not_object",
		`{"data":{"a":` + quoted(`{"id":1,"id":2}`) + `}}`:      "duplicate_key",
		`{"data":{"a":` + quoted(inner) + `,"a":"e30.e30.AA"}}`: "duplicate_key",
	} {
		_, err := all.Decode("", within(payload))
		require.Error(t, err, payload)
		require.Equal(t, code, event.CodeOf(err), payload)
	}
	all.Projection = Projection{"data": {"a": {"id": nil}}}
	v, err = all.DecodeIdentity("", within(`{"x":1,"data":{"y":1,"a":`+quoted(`{"id":7}`)+`}}`))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"data": map[string]any{"a": map[string]any{"id": json.Number("7")}}}, v)
}

// Tokens in a body that no token covers prove nothing.
func TestTokensNeedATokenAround(t *testing.T) {
	t.Parallel()
	for _, d := range []definition.Decode{{Tokens: []string{"a"}}, {As: "form", Tokens: []string{"a"}}} {
		var p definition.Problems
		New(&p, []definition.Decode{d})
		require.ErrorContains(t, p.Err(), "nothing else vouches for them")
	}
	require.Equal(t, [][]string{{"a", "b"}}, readerOfTokens(t, definition.Decode{As: "jwt", Tokens: []string{"a.b"}}).NestedTokens())
}
