package providers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
)

// Bodies that are signed but aren't events: the code says what is wrong, without any of their content.
func TestInvalidJSONIsRejected(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "stripe", secretOfTests)
	for body, code := range map[string]string{
		"": "empty_body", " \n": "empty_body", "{": "malformed_json", `{"a":1,}`: "malformed_json",
		`{'a':1}`: "malformed_json", `{"a":1}garbage`: "malformed_json", `{}{}`: "malformed_json",
		"{} // comment": "malformed_json", `{"a":NaN}`: "malformed_json", `{"a":Infinity}`: "malformed_json",
		`{"a":+1}`: "malformed_json", `{"a":01}`: "malformed_json", `{"a":.5}`: "malformed_json",
		`{"a":1.}`: "malformed_json", `{"a":1e}`: "malformed_json", `{"a":-}`: "malformed_json",
		`{"a":tru}`: "malformed_json", "{\"a\":\"\n\"}": "malformed_json", `{"a":"\x"}`: "malformed_json",
		`{"a":"\ud8"}`: "malformed_json", `{"a" 1}`: "malformed_json", `{1:1}`: "malformed_json",
		"{\"a\":\"\x00\"}": "malformed_json", "\x00": "malformed_json",
		"{\"a\":\"\xff\"}": "invalid_utf8",
		"null":             "not_object", "true": "not_object", "5": "not_object", `"x"`: "not_object", "[]": "not_object",
		`[{"id":"1"},{"id":"2"}]`:                                     "not_object",
		strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300): "too_deep",
		strings.Repeat("[", 1_000_000):                                "too_deep",
		`{"id":"1","id":"2"}`:                                         "duplicate_key",
		`{"type":"a","id":"1","type":"b"}`:                            "duplicate_key",
		`{"type":"a"}`:                                                "missing_key",
		`{"id":null}`:                                                 "missing_key",
		`{"id":{"x":1}}`:                                              "missing_key",
		`{"id":["1"]}`:                                                "missing_key",
		`{"id":true}`:                                                 "missing_key",
	} {
		r := &auth.Request{Method: "POST", Body: []byte(body)}
		items, err := p.Split(r)
		require.NoError(t, err, body)
		require.Len(t, items, 1)
		require.Equal(t, event.KeyFromNothing, items[0].KeyFrom, body)
		require.Equal(t, body, string(items[0].Body))
		_, err = p.Parse(receiptOfTest(p, items[0]), items[0].Body)
		require.Equal(t, code, event.CodeOf(err), "%.40s", body)
		require.Equal(t, event.ClassRejected, event.ClassOf(err))
	}
}

// A repeated field that identifies nothing is accepted.
func TestHarmlessDuplicateIsAccepted(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "stripe", secretOfTests)
	items, err := p.Split(&auth.Request{Body: []byte(`{"id":"evt_1","type":"x","note":"a","note":"b"}`)})
	require.NoError(t, err)
	_, err = p.Parse(receiptOfTest(p, items[0]), items[0].Body)
	require.NoError(t, err)
}

// IDs are compared byte by byte, and numbers by value.
func TestKeysOfIDs(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "stripe", secretOfTests)
	keyOf := func(id string) string {
		items, err := p.Split(&auth.Request{Body: []byte(`{"id":` + id + `,"type":"x"}`)})
		require.NoError(t, err)
		require.Equal(t, event.KeyFromEvent, items[0].KeyFrom)
		return items[0].Key
	}
	require.Equal(t, "12345678901234567890", keyOf("12345678901234567890"))
	require.Equal(t, keyOf("1"), keyOf("1.0"))
	distinct := map[string]bool{}
	ids := []string{
		`"A"`, `"a"`, `"é"`, "\"e\u0301\"", "1", `"01"`, `"1 "`, `"\u0000"`, "1e1000000000", `"` + strings.Repeat("x", 201) + `"`,
		`"` + strings.Repeat("x", 200) + `"`, `"` + strings.Repeat("x", 3000) + `"`,
	}
	for _, id := range ids {
		distinct[keyOf(id)] = true
	}
	require.Len(t, distinct, len(ids))
}
