package providers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two bodies are one JSON value however they are written. When in doubt they differ: a member that is there twice has no one value.
func TestBodiesWithOneValue(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, strings.Replace(minimal, "{parts: [.body.id]}", "{certainty: certain, parts: [.body.id], varies: [attempt, meta.try]}", 1))
	const body = `{"id":"1","n":1,"big":12345678901234567890,"list":[1,{"a":null}],"text":"é/\u20ac","attempt":1}`
	for _, same := range []string{
		body, " " + body + "\n", "\xef\xbb\xbf" + body,
		`{"text":"\u00e9\/€","list":[1.0,{"a":null}],"big":1.234567890123456789E19,"n":10e-1,"id":"\u0031"}`,
		strings.Replace(body, `"attempt":1`, `"attempt":{"x":2},"meta":{"try":3}`, 1),
	} {
		want := !strings.Contains(same, "meta") // an object that is there isn't one that is missing
		require.Equal(t, want, p.SameValue(t.Context(), "x", []byte(body), []byte(same)), same)
		require.Equal(t, want, p.SameValue(t.Context(), "x", []byte(same), []byte(body)), same)
	}
	for old, changed := range map[string]string{
		`"n":1`: `"n":1.00000000000000000000000000000001`, `"big":12345678901234567890`: `"big":12345678901234567891`, `[1,`: `[1,1,`,
		`"a":null`: `"b":null`, `{"a":null}`: `{}`, `"n":1,`: `"n":"1",`, `"id":"1"`: `"id":"1","id":"1"`, `é`: `e\u0301`,
		`1}`: `1} x`, `"list":[1,{"a":null}]`: `"list":[{"a":null},1]`, "1,": "1e400,", `"text"`: `"Text"`,
	} {
		require.False(t, p.SameValue(t.Context(), "x", []byte(body), []byte(strings.Replace(body, old, changed, 1))), changed)
	}
	require.False(t, p.SameValue(t.Context(), "x", []byte("id=1"), []byte("id=1 ")), "no JSON")
}

// A retry of a form with files has another boundary, and is the same form: no conflict under a certain key. Other parts, another order
// of them, and other files are.
func TestFormsWithFilesAreComparedWithoutTheirBoundary(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "jotform", secretOfTests)
	form := func(boundary string, parts ...string) []byte {
		var body strings.Builder
		for _, part := range parts {
			body.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; " + part + "\r\n")
		}
		return []byte(body.String() + "--" + boundary + "--\r\n")
	}
	id, answers := "name=\"submissionID\"\r\n\r\n1", "name=\"rawRequest\"\r\n\r\n{}"
	file := "name=\"f\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n"
	first := form("one", id, answers, file+"a")
	require.True(t, p.SameValue(t.Context(), "", first, form("two", id, answers, file+"a")))
	for name, other := range map[string][]byte{
		"another file": form("two", id, answers, file+"b"), "another order": form("two", answers, id, file+"a"),
		"a field more": form("two", id, answers, file+"a", "name=\"x\"\r\n\r\n"), "no file": form("two", id, answers),
		"other answers":      form("two", id, answers+" ", file+"a"),
		"another type":       form("two", id, answers, strings.Replace(file, "plain", "html", 1)+"a"),
		"another name":       form("two", id, answers, strings.Replace(file, "a.txt", "b.txt", 1)+"a"),
		"text for a file":    form("two", id, answers, "name=\"f\"\r\n\r\na"),
		"the end is missing": first[:len(first)-5],
		"no form":            []byte("submissionID=1&rawRequest={}"),
	} {
		require.False(t, p.SameValue(t.Context(), "", first, other), name)
		require.False(t, p.SameValue(t.Context(), "", other, first), name)
	}
}
