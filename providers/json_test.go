package providers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// Bodies that are signed and yet no event: the code says what is wrong, and nothing else of them.
func TestWhatIsNotJSONIsRejected(t *testing.T) {
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
		"{\"a\":\"\xff\"}": "invalid_utf8", "\xef\xbb\xbf{}": "byte_order_mark",
		"null": "not_object", "true": "not_object", "5": "not_object", `"x"`: "not_object", "[]": "not_object",
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
		r := &Request{Method: "POST", Body: []byte(body)}
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

// A doubled field that identifies nothing is not held against the event.
func TestHarmlessDuplicateIsTaken(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "stripe", secretOfTests)
	items, err := p.Split(&Request{Body: []byte(`{"id":"evt_1","type":"x","note":"a","note":"b"}`)})
	require.NoError(t, err)
	_, err = p.Parse(receiptOfTest(p, items[0]), items[0].Body)
	require.NoError(t, err)
}

func TestCanonicalNumbers(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "0e9": "0", "1": "1", "-1": "-1", "1.0": "1", "1e0": "1", "10e-1": "1",
		"1E5": "100000", "100000": "100000", "1.50": "1.5", "0.00100": "0.001", "-12.30e1": "-123",
		"9007199254740993": "9007199254740993", "12345678901234567890": "12345678901234567890",
		"1e1000000000": "1e1000000000", "1e99999999999999999999": "1e99999999999999999999",
		"123e100": "123e100", "1.23e102": "123e100", "1e-100": "1e-100",
	} {
		require.Equal(t, want, canonicalNumber(in), in)
	}
}

// Ids are compared byte by byte, and numbers by their value.
func TestKeysOfIDs(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "stripe", secretOfTests)
	keyOf := func(id string) string {
		items, err := p.Split(&Request{Body: []byte(`{"id":` + id + `,"type":"x"}`)})
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

// The parts of a key cannot be moved from one into the next.
func TestPartsOfAKeyStayApart(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, joinKey([]string{"a:b", "c"}), joinKey([]string{"a", "b:c"}))
	require.NotEqual(t, joinKey([]string{"a%3Ab"}), joinKey([]string{"a:b"}))
	require.Equal(t, "a:b:c", joinKey([]string{"a", "b", "c"}))
}

// FuzzReader compares the reader with the standard library: they accept the same texts and read the same values.
func FuzzReader(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,2.5e-3,"x\u00e9\ud83d\ude00\n",true,false,null,{}],"b":""}`, `[]`, `"\ud800"`, ` -0 `, `{"a":1,"a":2}`,
		`[1,]`, `{"a"}`, `1 2`, "\"\t\"", `01`, `"\`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeJSON(data)
		if code := event.CodeOf(err); err != nil && code != "malformed_json" {
			return
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var want any
		wantErr := d.Decode(&want)
		if wantErr == nil {
			if _, end := d.Token(); !errors.Is(end, io.EOF) {
				wantErr = errMalformed
			}
		}
		require.Equal(t, wantErr == nil, err == nil, "%q: %v, %v", data, wantErr, err)
		if err == nil {
			require.Equal(t, want, got)
		}
	})
}

func FuzzRuby(f *testing.F) {
	for _, s := range []string{`{"a"=>nil, :b=>[1, "x\u{e9}"], c: {1=>2.0}}`, `{"a"=>"\`, `{nil=>:"x"}`, `[`, `{"a": 1}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := decodeRubyOrJSON(s)
		if err != nil {
			return
		}
		_, err = json.Marshal(v)
		require.NoError(t, err)
	})
}
