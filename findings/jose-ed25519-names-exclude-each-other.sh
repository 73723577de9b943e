#!/usr/bin/env bash
# Ed25519 in JWTs: with a public key as Node exports it, no token is accepted by both npm's jose and Go's libraries.
#
# Versions: jose 6.2.18 (npm) on Node 20.20, golang-jwt 5.3.1, go-jose 4.1.9, lestrrat-go/jwx 3.4.0 (Go 1.26).
# Guess:    Ed25519 signatures are "EdDSA" in JWTs, and RFC 9864's newer name "Ed25519" means the same, so that a key set with an
#           exported key serves receivers in both languages under either name.
# Seen:     Web Crypto's export names the key's algorithm: "alg": "Ed25519". For jose a key of that name doesn't fit a token with
#           "EdDSA": no applicable key. golang-jwt and go-jose don't know "Ed25519"; go-jose calls it a cryptographic error. Only jwx
#           takes all. Without "alg" in the key, "EdDSA" works everywhere.
# Hurts:    services that publish their keys for others: whichever name they sign with, one half of the receivers refuses each token.
#           Delete "alg" from an exported Ed25519 key, and sign with "EdDSA".
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund jose@6.2.18
cat >sign.mjs <<'JS'
import { writeFileSync } from 'node:fs';
import { createLocalJWKSet, jwtVerify, SignJWT } from 'jose';

const pair = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
const exported = await crypto.subtle.exportKey('jwk', pair.publicKey);
console.log('exported alg:', exported.alg);
const { alg, ...nameless } = exported;
const sets = { exported: { keys: [exported] }, nameless: { keys: [nameless] } };
const tokens = {};
for (const name of ['EdDSA', 'Ed25519']) {
  tokens[name] = await new SignJWT({ sub: 'shop' }).setProtectedHeader({ alg: name }).sign(pair.privateKey);
  for (const [which, set] of Object.entries(sets)) {
    const result = await jwtVerify(tokens[name], createLocalJWKSet(set)).then(() => 'accepted', (e) => e.code);
    console.log(`jose, ${which} key, token ${name}: ${result}`);
  }
}
writeFileSync('made.json', JSON.stringify({ sets, tokens }));
JS
cat >go.mod <<'MOD'
module finding
go 1.26
require (
	github.com/go-jose/go-jose/v4 v4.1.9
	github.com/golang-jwt/jwt/v5 v5.3.1
	github.com/lestrrat-go/jwx/v3 v3.4.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jws"
	jwxtoken "github.com/lestrrat-go/jwx/v3/jwt"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func result(err error) string {
	if err != nil {
		return err.Error()
	}
	return "accepted"
}

func main() {
	text, err := os.ReadFile("made.json")
	check(err)
	var made struct {
		Sets   map[string]json.RawMessage
		Tokens map[string]string
	}
	check(json.Unmarshal(text, &made))
	for _, name := range []string{"EdDSA", "Ed25519"} {
		for _, which := range []string{"exported", "nameless"} {
			token, like := made.Tokens[name], fmt.Sprintf("%s key, token %s:", which, name)
			var set jose.JSONWebKeySet
			check(json.Unmarshal(made.Sets[which], &set))
			_, err := jwt.Parse(token, func(*jwt.Token) (any, error) { return set.Keys[0].Key, nil })
			fmt.Println("golang-jwt,", like, result(err))
			signed, err := jose.ParseSigned(token, []jose.SignatureAlgorithm{"EdDSA", "Ed25519"})
			check(err)
			_, err = signed.Verify(set.Keys[0])
			fmt.Println("go-jose,", like, result(err))
			keys, err := jwk.Parse(made.Sets[which])
			check(err)
			_, err = jwxtoken.Parse([]byte(token),
				jwxtoken.WithKeySet(keys, jws.WithRequireKid(false), jws.WithInferAlgorithmFromKey(true)))
			fmt.Println("jwx,", like, result(err))
		}
	}
}
GO
go mod tidy 2>/dev/null
{ node sign.mjs && go run .; } | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
exported alg: Ed25519
jose, exported key, token EdDSA: ERR_JWKS_NO_MATCHING_KEY
jose, nameless key, token EdDSA: accepted
jose, exported key, token Ed25519: accepted
jose, nameless key, token Ed25519: accepted
golang-jwt, exported key, token EdDSA: accepted
go-jose, exported key, token EdDSA: accepted
jwx, exported key, token EdDSA: accepted
golang-jwt, nameless key, token EdDSA: accepted
go-jose, nameless key, token EdDSA: accepted
jwx, nameless key, token EdDSA: accepted
golang-jwt, exported key, token Ed25519: token is unverifiable: signing method (alg) is unavailable
go-jose, exported key, token Ed25519: go-jose/go-jose: error in cryptographic primitive
jwx, exported key, token Ed25519: accepted
golang-jwt, nameless key, token Ed25519: token is unverifiable: signing method (alg) is unavailable
go-jose, nameless key, token Ed25519: go-jose/go-jose: error in cryptographic primitive
jwx, nameless key, token Ed25519: accepted
SEEN
echo "as seen"
