package providers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth"
)

// Two deliveries with one key may differ in what the definition declares to vary, and in no other byte.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	load := func(key string) *Provider {
		definition := minimal[:strings.Index(minimal, "key:")] + "key: " + key + "\n"
		return mustLoad(t, definition)
	}
	of := func(p *Provider, body string) string {
		return itemOf(t, p, &auth.Request{Body: []byte(body)}).Fingerprint
	}
	const first = `{"id":"1","type":"a","try":1,"meta":{"sent":"now","n":1},"data":{}}`
	strict, lenient := load("{parts: [.body.id]}"), load("{parts: [.body.id], varies: [try, meta.sent, data.none]}")
	require.Equal(t, hashed(first), of(strict, first))
	for other, same := range map[string]bool{
		first: true,
		`{"id":"1","type":"a","try":22,"meta":{"sent":{"a":[1]},"n":1},"data":{}}`: true,
		`{"id":"1","type":"a","try":1,"meta":{"sent":"now","n":2},"data":{}}`:      false,
		`{"id":"1","type":"a","meta":{"sent":"now","n":1},"data":{}}`:              false,
		`{"id":"1","type":"a","try":1,"meta":"sent","data":{}}`:                    false,
		`{"id":"1","type":"b","try":1,"meta":{"sent":"now","n":1},"data":{}}`:      false,
	} {
		require.Equal(t, other == first, of(strict, other) == of(strict, first), other)
		require.Equal(t, same, of(lenient, other) == of(lenient, first), other)
	}
	require.Empty(t, of(load(`{parts: [.body.id], varies: ["*"]}`), first))
	require.Equal(t, "a", of(load("{parts: [body_sha256], delivery: .body.type}"), first))
	require.Empty(t, of(load("{fallback: body_sha256}"), first))
}
