package providers

import (
	"encoding/base64"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth"
)

// Before authentication, no body takes much more memory than its own size.
func TestMemoryBeforeAuthentication(t *testing.T) {
	const size = 256 << 10
	claims := base64.RawURLEncoding.EncodeToString(field("a", repeated(`{"":0}`, size)))
	head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","kid":"k"}`))
	long := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256"` + strings.Repeat(`,"":0`, size/5) + `}`))
	lines := ""
	for i := range 9000 {
		lines += strconv.FormatInt(int64(i), 36) + ":\r\n"
	}
	const part = "--b\r\nContent-Disposition: form-data; name=\"json\"\r\n"
	for name, c := range map[string]struct{ definition, body string }{
		"claims of the event": {tokenIsEvent, head + "." + claims + ".AAAA"},
		"many parts":          {tokenIsEvent, strings.Repeat(".", size)},
		"a long header":       {tokenIsEvent, long + ".e30.AAAA"},
		"claims in a field":   {tokenInField, `{"token":"` + head + "." + claims + `.AAAA"}`},
		"headers of a part":   {signedForm, part + lines + "\r\n{}\r\n--b--\r\n"},
		"headers of a 2nd part": {
			signedForm, part + "\r\n{}\r\n--b \r\n" + lines + "\r\n{}\r\n--b--\r\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustLoad(t, c.definition).Bound(secretsOf(secretOfTests)).Keyed(auth.TrialKeySets)
			r := &auth.Request{Method: "POST", Path: "/webhooks/acme", Body: []byte(c.body), Header: map[string][]string{}}
			r.SetHeader("content-type", "multipart/form-data; boundary=b")
			_ = p.Authenticate(r, clock) // what is made once
			got := allocatedBy(func() { require.Error(t, p.Authenticate(r, clock)) })
			require.LessOrEqual(t, got, uint64(4*len(c.body)+allocatedAtLeast))
		})
	}
}

const (
	tokenIsEvent = `
name: acme
secrets: ACME_ACCOUNT
auth: [{jwt: {secrets: ACME_ACCOUNT, algorithm: RS256, keys: {url: "https://acme.example/k"}, account: aud, payload: "."}}]
decode: [{as: jwt}]
type: .body.type
key: {parts: [.body.id]}
`
	tokenInField = `
name: acme
secrets: ACME_ACCOUNT
auth: [{jwt: {secrets: ACME_ACCOUNT, algorithm: RS256, keys: {url: "https://acme.example/k"}, account: aud, body: token}}]
type: .body.type
key: {parts: [.body.id]}
`
	signedForm = `
name: acme
secrets: ACME_SECRET
auth: [{hmac: {signed: "{field:json:a}", signature: {body: "json:b"}, partial: The sender signs a field.}}]
decode: [{content_type: multipart/form-data, as: multipart, json_field: json}, {as: json}]
type: .body.type
key: {parts: [.body.id], unsigned: The sender signs a field.}
`
)
