package auth

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
)

func hashedRequest(header, signature string) *Request {
	return &Request{
		Method: http.MethodPost, Path: "/webhooks/acme", URL: "https://hooks.example.com/webhooks/acme",
		Header: map[string][]string{header: {signature}, "x-time": {strconv.FormatInt(clock.Unix(), 10)}},
		Body:   []byte(`{"id":"ev_1","event":"parcel.sent"}`),
	}
}

// A sender signs the hash of the body instead of the body, in one of three encodings. The signatures are Node.js's. The key is in
// base64 or base64url.
func TestASignedHashOfTheBody(t *testing.T) {
	t.Parallel()
	keys := map[string]string{
		"base64": "++++++99ShwAESIzRFVmd//+/fz7+vn49/b19PPy8fA=", "base64url": "------99ShwAESIzRFVmd__-_fz7-vn49_b19PPy8fA",
	}
	for variable, signature := range map[string]string{
		"body_sha256":           "4kqrFc9IFUYZTfxZWI4kOUa3n_c6kI843yzKwwgEgEU",
		"body_sha256:base64":    "5UvD2WDjtIZsfDFOhR4ls1XaiprjHiVEc7DspTxnBMA",
		"body_sha256:base64url": "TGiPt6zedD2DX0-FLzDrFbiFhqEtwAfaJltp6WYOUGA",
	} {
		for written, secret := range keys {
			a := compiled(t, "name: acme\nsecrets: ACME\nauth:\n  - hmac:\n      key: "+written+"\n      encoding: base64url\n"+
				"      signed: \"{timestamp}.{path}.{"+variable+"}\"\n      signature: {header: x-sign}\n"+
				"      timestamp: {header: x-time, unit: s, tolerance: 300s}\n").WithSecrets(secretsOf(secret))
			require.NoError(t, a.Authenticate(hashedRequest("x-sign", signature), clock), variable)
			changed := hashedRequest("x-sign", signature)
			changed.Body = append(changed.Body, ' ')
			require.Equal(t, denial.BadSignature, denial.ReasonOf(a.Authenticate(changed, clock)))
		}
	}
}

// A secret that isn't in the form of its key makes no key: as text it would authenticate what another sender signs.
func TestASecretInAnotherFormIsRefused(t *testing.T) {
	t.Parallel()
	for form, secret := range map[string]string{
		"base64url": "++++++99ShwAESIzRFVmd//+/fz7+vn49/b19PPy8fA=", "base64": "------99ShwAESIzRFVmd__-_fz7-vn49_b19PPy8fA",
		"hex": "------99ShwAESIzRFVmd__-_fz7-vn49_b19PPy8fA",
	} {
		a := compiled(t, "name: acme\nsecrets: ACME\nauth:\n  - hmac:\n      key: "+form+"\n      signed: \"{body_sha256}\"\n"+
			"      signature: {header: x-sign}\n").WithSecrets(secretsOf(secret))
		require.Equal(t, denial.UnusableSecret, denial.ReasonOf(a.CheckSecrets()), form)
		r := hashedRequest("x-sign", strings.Repeat("0", 64))
		require.Equal(t, denial.UnusableSecret, denial.ReasonOf(a.Authenticate(r, clock)), form)
	}
}

// The hash is in hex by default, also of a request without a body, and is another variable than a header of its name.
func TestTheHashOfABodyIsNoHeader(t *testing.T) {
	t.Parallel()
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	c := newContent(&definition.Problems{}, "signed", "{body_sha256}|{header:body_sha256}")
	r := &Request{Header: map[string][]string{"body_sha256": {"theirs"}}}
	require.Equal(t, empty+"|theirs", string(c.message(signedParts{request: r})))
	for _, wrong := range []string{"{body_sha256:}", "{body_sha256:text}", "{header:}"} {
		var p definition.Problems
		newContent(&p, "signed", wrong)
		require.Error(t, p.Err(), wrong)
	}
}

// A detached token signs time, path and the hash of the body with a key that the sender gives you. The token is Node.js's.
func TestADetachedTokenOfTheBodysHash(t *testing.T) {
	t.Parallel()
	const public = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEh1qEZ2Gm1tNUjHP55aFd4LEnsPDA4C19K4/kmWiiKhkFtoIgPzDKMkRFR2bnuT5edw3G35RPeNAl5JCS55AU" +
		"BQ=="
	const token = "eyJhbGciOiJFUzI1NiJ9..IGAU-zpHbR4t8oApkn-cckbnTG5zPVR1TKQsaWF7Its-9uNCQRKvCGCyMyV4jFZQLrGLfbB1QW92zj9Y99OsIw"
	a := compiled(t, "name: acme\nsecrets: ACME\nauth:\n  - jwt:\n      header: x-token\n      algorithm: ES256\n"+
		"      detached: \"{header:x-time}.{path}.{body_sha256}\"\n").WithSecrets(secretsOf(public))
	require.NoError(t, a.Authenticate(hashedRequest("x-token", token), clock))
	for name, change := range map[string]func(r *Request){
		"another body": func(r *Request) { r.Body = append(r.Body, ' ') },
		"another path": func(r *Request) { r.URL += "x" },
		"another time": func(r *Request) { r.SetHeader("x-time", "1777896001") },
	} {
		changed := hashedRequest("x-token", token)
		change(changed)
		require.Equal(t, denial.BadToken, denial.ReasonOf(a.Authenticate(changed, clock)), name)
	}
}
