package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// stripeSigned returns an authentic body for Stripe, signed at the time in at, which may be invalid.
func stripeSigned(at, body string) string {
	return request("stripe", body, stripeSignature(at, body, secret))
}

func stripeSignature(at, body, key string) string {
	return "Stripe-Signature: t=" + at + ",v1=" + hexMAC(key, at+"."+body) + "\r\n"
}

func hexMAC(key, content string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(content))
	return hex.EncodeToString(mac.Sum(nil))
}

// standardSigned returns a Standard Webhooks event with this version of the scheme before the signature.
func standardSigned(version, id, body string) string {
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	at := fmt.Sprint(time.Now().Unix())
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	return request("standard-webhooks", body, fmt.Sprintf("Webhook-Id: %s\r\nWebhook-Timestamp: %s\r\nWebhook-Signature: %s,%s\r\n",
		id, at, version, base64.StdEncoding.EncodeToString(mac.Sum(nil))))
}

// identityThreats are B31 to B53: authentication, signatures, replays, ids.
func identityThreats() []threat {
	fresh := func() string { return `{"id":"` + uniqueID("b3x") + `","type":"order.paid"}` }
	body, now := fresh(), fmt.Sprint(time.Now().Unix())
	good, bad := "X-Signature: sha256="+hexHMAC(body)+"\r\n", "X-Signature: sha256="+hexHMAC("another")+"\r\n"
	list := func(signatures int, body string) string {
		valid := ",v1=" + hexMAC(secret, now+"."+body)
		return "Stripe-Signature: t=" + now + strings.Repeat(",v1="+strings.Repeat("0", 64), signatures-1) + valid + "\r\n"
	}
	stripeBody := string(customerUpdated(uniqueID("evt"), uniqueID("cus"), marker, time.Now()))
	rows := []threat{
		{id: "B31", what: "no signature", request: request("hmac", body, ""), want: refused401},
		{id: "B31", what: "an empty signature", request: request("hmac", body, "X-Signature: \r\n"), want: refused401},
		{id: "B31", what: "half a signature", request: request("hmac", body, good[:len(good)-34]+"\r\n"), want: refused401},
		{id: "B32", what: "another secret", request: request("hmac", body, "X-Signature: sha256="+hexMAC("another", body)+"\r\n"), want: refused401},
		{id: "B32", what: "another body's signature", request: request("hmac", body, bad), want: refused401},
		{id: "B32", what: "a byte more", request: request("hmac", body+" ", good), want: refused401},
		{id: "B32", what: "another provider's signature", request: request("stripe", body, good), want: refused401},
		{id: "B32", what: "another provider's secret", request: request("umnico", body, good), want: refused401},
		{id: "B32", what: "the hash of the body without a secret", request: request("hmac", body, "X-Signature: sha256="+hexMAC("", body)+"\r\n"), want: refused401},
		{
			id: "B34", what: "Stripe's fake scheme v0", want: refused401,
			request: request("stripe", body, strings.Replace(stripeSignature(now, body, secret), "v1=", "v0=", 1)),
		},
		{id: "B34", what: "a scheme of the future", request: standardSigned("v2", uniqueID("msg"), body), want: refused401},
		{id: "B34", what: "an HMAC that says to be Ed25519", request: standardSigned("v1a", uniqueID("msg"), body), want: refused401},
		{
			id: "B35", what: "two signatures, the first good", request: request("hmac", body, good+bad), want: refused401,
			why: "401 and not 400: who is not authentic is not told why",
		},
		{id: "B35", what: "two signatures, the second good", request: request("hmac", body, bad+good), want: refused401},
		{id: "B35", what: "twice the same signature", request: request("hmac", body, good+good), want: refused401},
		{id: "B35", what: "one in ten", request: request("stripe", stripeBody, list(10, stripeBody)), want: "202", stored: "event"},
		{id: "B35", what: "one in eleven", request: request("stripe", body, list(11, body)), want: refused401},
		{id: "B35", what: "one in twenty", request: request("stripe", body, list(20, body)), want: refused401},
		{id: "B37", what: "a provider without a secret", request: request("github", body, "X-Hub-Signature-256: sha256="+hexMAC("", body)+"\r\n"), want: refused401},
		{id: "B37", what: "a provider that is not configured", request: request("shopify", body, "X-Shopify-Hmac-Sha256: "+base64.StdEncoding.EncodeToString([]byte(hexMAC("", body)))+"\r\n"), want: refused401},
		{id: "B40", what: "a signature over what is compressed", request: request("hmac", body, good+"Content-Encoding: gzip\r\n"), want: "415 encoding_not_supported"},
		{id: "B41", what: "the old secret", request: signedWith(oldSecret, fresh()), want: "202", stored: "event"},
		{id: "B41", what: "a secret that is older still", request: signedWith("whsec_the_third_one", fresh()), want: refused401},
		{
			id: "B44", what: "the same request again", want: "202, 200", stored: "event", bodies: []string{`{"id":"$ID"}`, `{"id":"$ID"}`},
		},
		{id: "B46", what: "no id", bodies: []string{`{"type":"order.paid","n":"$ID"}`}, want: "202", stored: "event", holds: "key_from = 'body_sha256'"},
		{id: "B46", what: "no id, of a provider that always gives one", request: stripeSigned(now, `{"type":"a"}`), want: "202", stored: "dead missing_key"},
		{id: "B47", what: "an id of NUL and a quote", bodies: []string{`{"id":"$ID\u0000'; DROP TABLE events --"}`}, want: "202", stored: "event", holds: "key LIKE 'h:%'"},
		{id: "B49", what: "ids that differ in case", bodies: []string{`{"id":"$ID-a"}`, `{"id":"$ID-A"}`}, want: "202, 202", stored: "event"},
		{id: "B49", what: "é, composed and not", bodies: []string{`{"id":"$ID-` + "\u00e9" + `"}`, `{"id":"$ID-` + "e\u0301" + `"}`}, want: "202, 202", stored: "event"},
		{id: "B49", what: "halves of surrogate pairs", bodies: []string{`{"id":"$ID\ud800"}`, `{"id":"$ID\udbff"}`}, want: "202, 202", stored: "event"},
		{id: "B49", what: "ids that differ in a zero", bodies: []string{`{"id":"1$ID"}`, `{"id":"01$ID"}`}, want: "202, 202", stored: "event"},
		{
			id: "B49", what: "a number and its text", bodies: []string{`{"id":90071992547409931}`, `{"id":"90071992547409931"}`},
			want: "202, 202", stored: "event", why: "an id is its text, and the second body is another one: a conflict, which is a dead letter",
		},
		{id: "B49", what: "a number in two spellings", bodies: []string{`{"id":4e5,"n":1}`, `{"id":400000.0,"n":1}`}, want: "202, 200", stored: "event"},
		{
			id: "B50", what: "the same id from two providers", want: "202, 202", stored: "event",
			request: signed("hmac", `{"id":"b50"}`, "") + signed("versioned", `{"id":"b50"}`, ""),
		},
		{
			id: "B53", what: "more than the provider may send", want: "202, 429 rate_limited", stored: "event",
			request: signed("limited", `{"id":"b53-1"}`, "") + signed("limited", `{"id":"b53-2"}`, ""),
		},
		{id: "B97", what: "an address that is claimed", request: request("umnico", body, "X-Forwarded-For: 10.9.9.9\r\nX-Real-Ip: 10.9.9.9\r\nForwarded: for=10.9.9.9\r\n"), want: refused401},
		{
			id: "B98", what: "another idempotency key in a header", want: "202, 200", stored: "event",
			request: signed("hmac", `{"id":"b98"}`, "Idempotency-Key: one\r\n") + signed("hmac", `{"id":"b98"}`, "Idempotency-Key: two\r\n"),
			why:     "what is not signed identifies nothing, so that it does not come to a mismatch",
		},
	}
	for _, at := range []string{
		"", "abc", "1e9", now + ".0", now + "000", "-" + now, "9223372036854775808", "0" + now, "+" + now, " " + now,
		strings.Repeat("9", 10<<10), fmt.Sprint(time.Now().Add(-time.Hour).Unix()), fmt.Sprint(time.Now().Add(time.Hour).Unix()),
	} {
		rows = append(rows, threat{id: "B43", what: "the time " + at[:min(len(at), 20)], request: stripeSigned(at, body), want: refused401})
	}
	for _, length := range []int{193, 200, 201, 1001, 3000} {
		rows = append(rows, threat{
			id: "B47", what: fmt.Sprintf("an id of %d bytes", length), bodies: []string{`{"id":"` + strings.Repeat("i", length) + `"}`},
			want: "202", stored: "event", why: "an id that is too long for a workflow ID is known by its hash",
		})
	}
	return append(rows, threat{id: "B31", what: "the event that none of them was", request: signed("hmac", body, ""), want: "202", stored: "event"})
}

func signedWith(key, body string) string {
	return request("hmac", body, "X-Signature: sha256="+hexMAC(key, body)+"\r\n")
}
