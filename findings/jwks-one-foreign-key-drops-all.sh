#!/usr/bin/env bash
# Key sets of JWTs: one key that a Go library doesn't know makes it refuse the keys beside it.
#
# Versions: lestrrat-go/jwx 3.4.0, MicahParks/keyfunc 3.9.1 (jwkset 0.11.4), coreos/go-oidc 3.21.0, golang-jwt 5.3.1 (Go 1.26).
# Guess:    a set may have keys of other algorithms, curves and uses, and a receiver ignores those that it doesn't understand, as RFC 7517
#           (section 5) tells it to. Tokens signed with the RSA key that was always there still verify.
# Seen:     jwx: a second key for ML-DSA, on secp256k1 (a build tag adds that), of an unknown type or "alg" is an error for the whole set. keyfunc
#           takes those, but drops all keys for a second one with another "use" or "key_ops", which are open lists; its
#           constructor then returns no error. go-oidc verifies in each case.
# Hurts:    receivers of services that add a post-quantum or another key to their set: from that moment each token is refused, although
#           the service still signs as before. jwx has WithIgnoreParseError; with keyfunc, parse the set yourself.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
cat >go.mod <<'MOD'
module finding
go 1.26
require (
	github.com/MicahParks/jwkset v0.11.4
	github.com/MicahParks/keyfunc/v3 v3.9.1
	github.com/coreos/go-oidc/v3 v3.21.0
	github.com/golang-jwt/jwt/v5 v5.3.1
	github.com/lestrrat-go/jwx/v3 v3.4.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/golang-jwt/jwt/v5"
	"github.com/lestrrat-go/jwx/v3/jwk"
	jwxtoken "github.com/lestrrat-go/jwx/v3/jwt"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

type key map[string]any

var text = base64.RawURLEncoding.EncodeToString

// rsaKey returns a new public key with the given changes.
func rsaKey(changes key) (*rsa.PrivateKey, key) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	check(err)
	public := key{"kty": "RSA", "kid": "2", "n": text(private.N.Bytes()), "e": "AQAB"}
	maps.Copy(public, changes)
	return private, public
}

// generator is a point on secp256k1: the one that its standard names G.
var generator = key{"kty": "EC", "crv": "secp256k1", "kid": "2", "use": "sig", "alg": "ES256K",
	"x": "eb5mfvncu6xVoGKVzocLBwKb_NstzijZWfKBWxb4F5g", "y": "SDradyajxGVdpPv8DhEIqP0XtEimhVQZnEfQj_sQ1Lg"}

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	signer, good := rsaKey(key{"kid": "1", "alg": "RS256", "use": "sig"})
	t := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{"iss": "shop", "aud": "me", "exp": time.Now().Add(time.Hour).Unix()})
	t.Header["kid"] = "1"
	token, err := t.SignedString(signer)
	check(err)
	exchange, err := ecdh.X25519().GenerateKey(rand.Reader)
	check(err)
	_, encryption := rsaKey(key{"use": "enc", "alg": "RSA-OAEP"})
	_, tls := rsaKey(key{"use": "tls"})
	_, attest := rsaKey(key{"key_ops": []string{"attest"}})
	_, later := rsaKey(key{"alg": "RS256-LATER"})
	for _, second := range []struct {
		name string
		key  key
	}{
		{"for encryption", encryption},
		{"X25519", key{"kty": "OKP", "crv": "X25519", "kid": "2", "use": "enc", "x": text(exchange.PublicKey().Bytes())}},
		{"ML-DSA", key{"kty": "AKP", "alg": "ML-DSA-44", "kid": "2", "pub": text(make([]byte, 1312))}},
		{"secp256k1", generator},
		{"unknown type", key{"kty": "LATER", "kid": "2"}},
		{"unknown alg", later},
		{"use tls", tls},
		{"key_ops attest", attest},
	} {
		body, err := json.Marshal(map[string]any{"keys": []key{good, second.key}})
		check(err)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, err := w.Write(body)
			check(err)
		}))
		verify(second.name, server.URL, token)
		server.Close()
	}
}

func accepted(err error) string {
	if err != nil {
		return "refused"
	}
	return "accepted"
}

func verify(second, url, token string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	set, err := jwk.Fetch(ctx, url)
	if err == nil {
		_, err = jwxtoken.Parse([]byte(token), jwxtoken.WithKeySet(set))
	}
	jwx := accepted(err)
	keys, err := keyfunc.NewDefaultCtx(ctx, []string{url})
	check(err)
	_, err = jwt.Parse(token, keys.Keyfunc)
	kf := accepted(err)
	_, err = oidc.NewVerifier("shop", oidc.NewRemoteKeySet(ctx, url), &oidc.Config{ClientID: "me"}).Verify(ctx, token)
	fmt.Printf("second key %s: jwx %s, keyfunc %s, go-oidc %s\n", second, jwx, kf, accepted(err))
}
GO
go mod tidy 2>/dev/null
go run . 2>/dev/null | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
second key for encryption: jwx accepted, keyfunc accepted, go-oidc accepted
second key X25519: jwx accepted, keyfunc accepted, go-oidc accepted
second key ML-DSA: jwx refused, keyfunc accepted, go-oidc accepted
second key secp256k1: jwx refused, keyfunc accepted, go-oidc accepted
second key unknown type: jwx refused, keyfunc accepted, go-oidc accepted
second key unknown alg: jwx refused, keyfunc accepted, go-oidc accepted
second key use tls: jwx accepted, keyfunc refused, go-oidc accepted
second key key_ops attest: jwx accepted, keyfunc refused, go-oidc accepted
SEEN
echo "as seen"
