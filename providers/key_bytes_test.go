package providers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast/providers/auth"
	"holdfast/providers/decode"
)

// keyOf returns the key of an authentic request.
func keyOf(t require.TestingT, p *Provider, r *auth.Request) string {
	items, err := p.Split(admit(t, p, r))
	require.NoError(t, err)
	require.Len(t, items, 1)
	return items[0].Key
}

// An ID is its sequence of UTF-16 code units, however they are escaped and whether or not they form characters:
//   - different IDs have different keys
//   - also in a form with JSON
func TestKeysAreMadeOfCodeUnits(t *testing.T) {
	t.Parallel()
	units := rapid.SliceOfN(rapid.SampledFrom([]uint16{'a', 0, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xfffd, 0xe000, 0xffff}), 1, 4)
	hmac, slack := providerOf(t, "hmac", secretOfTests), providerOf(t, "slack", secretOfTests)
	escaped := func(id []uint16) string {
		var text strings.Builder
		for _, unit := range id {
			fmt.Fprintf(&text, `\u%04x`, unit)
		}
		return text.String()
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := escaped(units.Draw(t, "a")), escaped(units.Draw(t, "b"))
		for _, c := range []struct {
			p           *Provider
			kind, event string
		}{
			{hmac, "application/json", `{"id":"%s"}`},
			{slack, decode.FormType, `payload={"trigger_id":"%s"}`},
		} {
			key := func(id string) string {
				return keyOf(t, c.p, &auth.Request{
					Body: fmt.Appendf(nil, c.event, id), Header: map[string][]string{"content-type": {c.kind}},
				})
			}
			require.Equal(t, a == b, key(a) == key(b), "%s, %s", a, b)
		}
	})
}

// A header that identifies the event is used as sent, not as a receipt shows it.
func TestKeysAreMadeOfWholeHeaders(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "token", secretOfTests)
	long := strings.Repeat("k", 1024)
	seen := map[string]string{}
	for _, id := range []string{"a\xff", "a\xfe", "a\xff\xff", "a\ufffd", "a\x01", "a", long, long + "1", long + "2"} {
		key := keyOf(t, p, &auth.Request{Body: []byte(`{}`), Header: map[string][]string{"idempotency-key": {id}}})
		require.Empty(t, seen[key], "%q", id)
		seen[key] = fmt.Sprintf("%q", id)
	}
}

// In jq a text plus null is the text. A key with a missing part is unusable: otherwise all such events would be one.
func TestNullIsNotAPartOfAKey(t *testing.T) {
	t.Parallel()
	for _, part := range []string{`'"a:" + .body.id'`, `'"a:\(.body.id)"'`, `'["a", .body.id] | join(":")'`} {
		p := mustLoad(t, "name: acme\nauth: [{token: {secrets: ACME_TOKEN, in: header, name: x-acme}}]\ntype: .body.type\n"+
			"key:\n  parts:\n    - "+part+"\n")
		key := func(body string) string { return keyOf(t, p, &auth.Request{Body: []byte(body)}) }
		require.NotEqual(t, key(`{"type":"a","n":1}`), key(`{"type":"a","n":2}`), part)
		require.Equal(t, "a:7", key(`{"type":"a","id":"7"}`), part)
	}
}
