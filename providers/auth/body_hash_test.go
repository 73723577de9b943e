package auth

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth/denial"
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
