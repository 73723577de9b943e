package ingress

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth"
)

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

const packing = "name: homemade\nextends: hmac\ngzip: "

// send posts a body whose signature covers another one.
func (d *door) send(t *testing.T, provider, signed string, body []byte, header ...string) reply {
	t.Helper()
	p, _ := d.catalogue.Lookup(provider)
	r := &auth.Request{Method: "POST", Path: "/webhooks/" + provider, Body: []byte(signed), Header: map[string][]string{
		"content-type": {"application/json"},
	}}
	require.NoError(t, p.Sign(r, secret, time.Now()))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header[header[i]] = strings.Split(header[i+1], "|")
	}
	r.Body = body
	return d.post(t, r)
}

// A definition says which bytes the signature of a compressed body covers. The plain ones are kept in both cases.
func TestCompressedBodies(t *testing.T) {
	t.Parallel()
	const body = `{"type":"a.b","id":"1"}`
	packed := string(zipped(t, body))
	for name, c := range map[string]struct {
		signs, signed, body, encoding string
		want                          int
	}{
		"signed before compression":      {"plain", body, packed, "gzip", 202},
		"signed after compression":       {"wire", packed, packed, "x-gzip", 202},
		"signed after, but meant before": {"plain", packed, packed, "gzip", 401},
		"signed before, but meant after": {"wire", body, packed, "gzip", 401},
		"uncompressed":                   {"plain", body, body, "", 202},
		"decompressed by a proxy":        {"plain", body, body, "gzip", 202},
		"damaged":                        {"plain", body, packed[:len(packed)-3], "gzip", 400},
		"damaged and signed":             {"wire", packed[:len(packed)-3], packed[:len(packed)-3], "gzip", 400},
		"compressed twice":               {"plain", body, packed, "gzip, gzip", 415},
		"another compression":            {"plain", body, packed, "br", 415},
		"two headers":                    {"plain", body, packed, "deflate|gzip", 415},
		"not accepted by the definition": {"null", body, packed, "gzip", 415},
		"a bomb":                         {"plain", body, string(zipped(t, strings.Repeat(" ", 8<<20))), "gzip", 413},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDoor(t, packing+c.signs+"\n")
			header := []string{"content-encoding", c.encoding}
			if c.encoding == "" {
				header = nil
			}
			r := d.send(t, "homemade", c.signed, []byte(c.body), header...)
			require.Equal(t, c.want, r.status, r.raw)
			if c.want == http.StatusAccepted {
				require.Equal(t, body, string(d.bodies[r.Events[0].WorkflowID]))
			} else {
				require.Empty(t, d.started)
			}
		})
	}
}

// Some senders put there what isn't a content coding. The body is as they signed it.
func TestEncodingsThatCompressNothing(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	for i, encoding := range []string{"utf-8", "UTF8", "none", "identity", "", "utf-8|identity", "application/json", "identity, utf-8"} {
		body := strings.Replace(`{"type":"a.b","id":"N"}`, "N", string(rune('a'+i)), 1)
		require.Equal(t, 202, d.send(t, "hmac", body, []byte(body), "content-encoding", encoding).status, encoding)
	}
	for _, encoding := range []string{"gzip", "br", "deflate", "zstd", "compress", "utf-8, gzip", "identity|br"} {
		require.Equal(t, 415, d.send(t, "hmac", "{}", []byte("{}"), "content-encoding", encoding).status, encoding)
	}
}

// A byte order mark before JSON is skipped: the event has the key that is in the body, and its bytes stay.
func TestBodiesWithAByteOrderMark(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	body := "\xef\xbb\xbf" + `{"id":"evt_mark","type":"customer.created","created":1760000000,"data":{"object":{"id":"cus_1","object":"customer"}}}`
	r := d.deliver(t, "stripe", "/webhooks/stripe", body, true)
	require.Less(t, r.status, 300)
	require.Equal(t, "stripe:evt_mark", r.Events[0].WorkflowID)
	require.Equal(t, body, string(d.bodies["stripe:evt_mark"]))
	parsed := d.parse(t, d.only(t, "stripe"))
	require.Equal(t, "customer.created", parsed.Type)
}

// What can't become an event is refused, so that its sender knows, unless the definition says otherwise.
func TestBodiesThatAreNoEvents(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]int{"": 400, "empty: ignore\nnot_object: ignore\n": 202, "empty: keep\nnot_object: keep\n": 202} {
		d := openDoor(t, "name: homemade\nextends: hmac\n"+fields)
		for _, body := range []string{"", " \n", "null", "5", `"x"`, "[]"} {
			r := d.deliver(t, "homemade", "/webhooks/homemade", body, true)
			require.Equal(t, want, r.status, "%q %q", fields, body)
			if strings.Contains(fields, "keep") {
				require.Len(t, r.Events, 1)
			} else {
				require.Empty(t, d.started)
			}
		}
		require.Equal(t, 202, d.deliver(t, "homemade", "/webhooks/homemade", "{", true).status, "what is cut off is kept")
	}
}
