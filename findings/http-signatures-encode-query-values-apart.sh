#!/usr/bin/env bash
# RFC 9421: two libraries write the value of a signed query parameter differently, and neither as the RFC does.
#
# Versions: http-message-signatures 1.0.6 (npm, signs), github.com/yaronf/httpsign 0.3.2 (Go, verifies), Node 20, Go 1.26.
# Guess:    what one library signs with "@query-param" the other verifies; only the method, the key and the time can go wrong.
# Seen:     values with ! ' ( ) or * don't verify. The RFC (2.2.8) names the encode set of HTML forms, which leaves * and encodes all
#           others of these and ~. The first library leaves all six, as encodeURIComponent does. The second encodes all but ~. A value
#           with ~ verifies, since both make the same mistake.
# Hurts:    senders who sign callback addresses with names or search texts in them: a customer called O'Neill is refused, all others pass.
#           Sign "@query" or "@target-uri", which nobody encodes again.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts http-message-signatures@1.0.6 >/dev/null
cat >sign.js <<'JS'
const { createSigner, httpbis } = require("http-message-signatures");

const key = createSigner(Buffer.from("k".repeat(64)), "hmac-sha256", "k1");
// What the RFC's encode set makes of a value: that of URLSearchParams, but for spaces.
const byRFC = (value) => new URLSearchParams([["q", value]]).toString().slice(2).replaceAll("+", "%20");

(async () => {
  const all = [];
  for (const value of ["plain", "a b", "a+b", "ä", "!", "'", "(", ")", "*", "~"]) {
    const url = "https://api.example.com/hooks?q=" + byRFC(value);
    const fields = ['"@query-param";name="q"'];
    const { headers } = await httpbis.signMessage({ key, fields, name: "sig" }, { method: "POST", url, headers: {} });
    all.push({ value, url, byRFC: byRFC(value), byJS: encodeURIComponent(value), headers });
  }
  console.log(JSON.stringify(all));
})();
JS
cat >go.mod <<'MOD'
module finding
go 1.26
require github.com/yaronf/httpsign v0.3.2
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/yaronf/httpsign"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func main() {
	var all []struct {
		Value, URL, ByRFC, ByJS string
		Headers                 map[string]string
	}
	check(json.NewDecoder(os.Stdin).Decode(&all))
	config := httpsign.NewVerifyConfig().SetKeyID("k1").SetVerifyCreated(false).SetRejectExpired(false)
	verifier, err := httpsign.NewHMACSHA256Verifier([]byte(strings.Repeat("k", 64)), config, httpsign.Fields{})
	check(err)
	for _, one := range all {
		r, err := http.NewRequest(http.MethodPost, one.URL, nil)
		check(err)
		for name, value := range one.Headers {
			r.Header.Set(name, value)
		}
		result := "verified"
		if httpsign.VerifyRequest("sig", *verifier, r) != nil {
			result = "refused"
		}
		fmt.Printf("%s: RFC %s, npm %s, Go %s: %s\n", one.Value, one.ByRFC, one.ByJS, httpsign.QueryEscapeForSignature(one.Value), result)
	}
}
GO
go mod tidy 2>/dev/null
node sign.js | go run . | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
plain: RFC plain, npm plain, Go plain: verified
a b: RFC a%20b, npm a%20b, Go a%20b: verified
a+b: RFC a%2Bb, npm a%2Bb, Go a%2Bb: verified
ä: RFC %C3%A4, npm %C3%A4, Go %C3%A4: verified
!: RFC %21, npm !, Go %21: refused
': RFC %27, npm ', Go %27: refused
(: RFC %28, npm (, Go %28: refused
): RFC %29, npm ), Go %29: refused
*: RFC *, npm *, Go %2A: refused
~: RFC %7E, npm ~, Go ~: verified
SEEN
echo "as seen"
