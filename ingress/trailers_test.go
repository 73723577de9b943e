package ingress

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Trailers aren't headers: a signature there authenticates nothing, and a value there identifies nothing, even if the head has
// the same name.
func TestTrailersDoNotCount(t *testing.T) {
	t.Parallel()
	const definition = `name: homemade
extends: hmac
keep: {headers: [x-id]}
key: {parts: ['.headers["x-id"]'], unsigned: it is a test}
`
	const body = `{"type":"order.paid"}`
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	signature := "X-Signature: sha256=" + hex.EncodeToString(mac.Sum(nil)) + "\r\n"
	for name, c := range map[string]struct {
		head, trailer, status, key string
	}{
		"a signature":        {"X-Id: a1\r\n", signature, "401", ""},
		"a signature again":  {"X-Id: a2\r\n" + signature, "X-Signature: sha256=00\r\n", "202", "a2"},
		"a key":              {signature, "X-Id: a3\r\n", "202", ""},
		"a key again":        {signature + "X-Id: a4\r\n", "X-Id: b4\r\n", "202", "a4"},
		"a declared trailer": {signature + "X-Id: a5\r\nTrailer: X-Id\r\n", "X-Id: b5\r\n", "202", "a5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDoor(t, definition)
			answer := d.raw(t, "POST /webhooks/homemade HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"+
				c.head+"Transfer-Encoding: chunked\r\n\r\n"+fmt.Sprintf("%x\r\n%s\r\n0\r\n%s\r\n", len(body), body, c.trailer))
			require.True(t, strings.HasPrefix(answer, "HTTP/1.1 "+c.status), answer)
			if c.status != "202" {
				require.Empty(t, d.receipts("homemade"))
				return
			}
			if key := d.only(t, "homemade").Key; c.key == "" {
				require.Contains(t, key, "sha256:")
			} else {
				require.Equal(t, c.key, key)
			}
		})
	}
}
