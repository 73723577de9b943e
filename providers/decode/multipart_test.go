package decode

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast/providers/definition"
)

// formOf writes a multipart form; each part is its header and its content.
func formOf(boundary string, parts ...[2]string) string {
	var out strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&out, "--%s\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n", boundary, p[0], p[1])
	}
	return out.String() + "--" + boundary + "--\r\n"
}

func multipartDecoders(t *testing.T, jsonField string) *Decoders {
	t.Helper()
	var p definition.Problems
	all := New(&p, []definition.Decode{{ContentType: MultipartType, As: "multipart", JSONField: jsonField}, {As: "json"}})
	require.NoError(t, p.Err())
	return &all
}

// A form with files has its fields as texts and what is known of the files. A repeated field is a list.
func TestMultipartForms(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("%PDF-1.7\r\nx"))
	body := formOf("b", [2]string{`name="a"`, "1"}, [2]string{`name="b"`, "x\r\ny"}, [2]string{`name="a"`, "2"}, [2]string{`name="latin"`, "caf\xe9"},
		[2]string{`name="file"; filename="a.pdf"` + "\r\nContent-Type: application/pdf", "%PDF-1.7\r\nx"})
	got, err := multipartDecoders(t, "").Decode("multipart/form-data; boundary=b", []byte(body))
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"a": []any{"1", "2"}, "b": "x\r\ny", "latin": map[string]any{"base64": "Y2Fm6Q=="},
		"file": map[string]any{"filename": "a.pdf", "content_type": "application/pdf", "sha256": hex.EncodeToString(sum[:]), "size": json.Number("11")},
	}, got)
	got, err = multipartDecoders(t, "data").Decode(MultipartType, []byte(formOf("b", [2]string{`name="data"`, `{"id":1}`})))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"id": json.Number("1")}, got)
}

// The boundary is the first line of the body: the one of the header isn't signed, and would let others cut the body elsewhere.
func TestTheBoundaryIsInTheBody(t *testing.T) {
	t.Parallel()
	inner := "x\r\n--evil\r\nContent-Disposition: form-data; name=\"admin\"\r\n\r\ntrue\r\n--evil--"
	body := []byte(formOf("good", [2]string{`name="note"`, inner}))
	for _, contentType := range []string{"multipart/form-data; boundary=evil", "multipart/form-data", "application/json", "application/x-www-form-urlencoded", ""} {
		decoders := multipartDecoders(t, "")
		got, err := decoders.Decode(contentType, body)
		require.NoError(t, err, contentType)
		require.Equal(t, map[string]any{"note": inner}, got, contentType)
		places, err := Places(decoders.As(contentType, body), body, []string{"note", "admin"})
		require.NoError(t, err, contentType)
		require.Equal(t, []Place{{inner, true}, {}}, places, contentType)
	}
}

// What isn't a whole form, or has more than a form needs, is refused.
func TestMalformedMultipartForms(t *testing.T) {
	t.Parallel()
	good := formOf("b", [2]string{`name="a"`, "1"})
	many := make([][2]string, maxParts+1)
	for i := range many {
		many[i] = [2]string{`name="a"`, ""}
	}
	for name, body := range map[string]string{
		"no end": strings.TrimSuffix(good, "--b--\r\n"), "a preamble": "hello\r\n" + good, "only a boundary": "--b\r\n", "a boundary alone": "--b",
		"no name": formOf("b", [2]string{`filename="a"`, ""}), "an empty name": formOf("b", [2]string{`name=""`, ""}),
		"a long name": formOf("b", [2]string{`name="` + strings.Repeat("x", 257) + `"`, ""}), "a name in bytes": formOf("b", [2]string{"name=\"\xff\"", ""}),
		"a long boundary": formOf(strings.Repeat("b", 71), [2]string{`name="a"`, "1"}), "too many parts": formOf("b", many...),
		"too much text":    formOf("b", [2]string{`name="a"`, strings.Repeat("x", maxPartFields/2)}, [2]string{`name="b"`, strings.Repeat("x", maxPartFields/2+1)}),
		"two dispositions": "--b\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n1\r\n--b--\r\n",
		"another kind":     "--b\r\nContent-Disposition: attachment; name=\"a\"\r\n\r\n1\r\n--b--\r\n",
	} {
		_, err := multipartDecoders(t, "").Decode("multipart/form-data; boundary=b", []byte(body))
		require.Error(t, err, name)
		_, err = Places("multipart", []byte(body), []string{"a"})
		require.Error(t, err, name)
	}
	for name, body := range map[string]string{
		"twice":                     formOf("b", [2]string{`name="a"`, "1"}, [2]string{`name="a"`, "1"}),
		"also as a file":            formOf("b", [2]string{`name="a"`, "1"}, [2]string{`name="a"; filename="x"`, "1"}),
		"nested in what isn't JSON": formOf("b", [2]string{`name="j"`, "x"}),
		"nested twice":              formOf("b", [2]string{`name="j"`, `{"a":1,"a":2}`}),
	} {
		path := "a"
		if strings.HasPrefix(name, "nested") {
			path = "j:a"
		}
		_, err := Places("multipart", []byte(body), []string{path})
		require.Error(t, err, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		body := "--b\r\n" + rapid.String().Draw(t, "body")
		_, _ = formParts([]byte(body))
	})
}

// Files are hashed where they are: they take no memory in addition to the body.
func TestFilesTakeNoMemory(t *testing.T) {
	body := []byte(formOf("b", [2]string{`name="f"; filename="f"`, strings.Repeat("x", 20<<20)}))
	d := multipartDecoders(t, "")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := d.Decode(MultipartType, body)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

// What EncodeMultipart writes is read again, also after a field was set.
func TestMultipartRoundTrip(t *testing.T) {
	t.Parallel()
	body, err := EncodeMultipart(map[string]any{"a": "x\r\n--b\r\n", "j": map[string]any{"sig": ""}, "quote\"d": "1"}, "the-boundary")
	require.NoError(t, err)
	body, err = SetMultipart(body, "j:sig", func([]byte, string) ([]byte, error) { return []byte(`{"sig":"s"}`), nil }, "")
	require.NoError(t, err)
	body, err = SetMultipart(body, "b", nil, "2")
	require.NoError(t, err)
	fields, err := multipartFields(body)
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"a": {"x\r\n--b\r\n"}, "b": {"2"}, "j": {`{"sig":"s"}`}, "quote\"d": {"1"}}, fields)
}
