package lint

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An editor adds a line end that the sender hasn't signed.
func TestACaptureThatAnEditorHasSavedIsRead(t *testing.T) {
	t.Parallel()
	h := hmac.New(sha256.New, []byte("a secret of the capture"))
	h.Write([]byte(`{"a":1}`))
	p, err := ReadPasted("POST /webhooks/acme HTTP/1.1\nX-Acme-Signature: " + hex.EncodeToString(h.Sum(nil)) + "\n\n{\"a\":1}\n")
	require.NoError(t, err)
	require.Contains(t, GuessDefinition("acme", p, "a secret of the capture").Found,
		"x-acme-signature is HMAC-SHA256 in hex over {body}, with the secret as it is")
}

// A captured request becomes a definition that loads. With the secret, the signature scheme is found:
//   - what is signed, where the time is, hash and encoding
//   - the secret and the values of the request are in neither the definition nor the remarks
//   - what one request can't show is asked for
func TestADefinitionIsGuessed(t *testing.T) {
	t.Parallel()
	const body, secret = `{"event_id":"e-77","type":"order.paid","created_at":"2025-10-09T08:53:20Z"}`, "a secret of the capture"
	mac := func(text string) []byte {
		h := hmac.New(sha256.New, []byte(secret))
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	short := hmac.New(sha1.New, []byte(secret))
	short.Write([]byte(body))
	for name, c := range map[string]struct {
		headers map[string]string
		secret  string
		wants   []string
		open    string
	}{
		"pairs": {
			map[string]string{"X-Acme-Signature": "t=1760000000,v1=" + hex.EncodeToString(mac("1760000000."+body))}, secret,
			[]string{`signed: "{timestamp}.{body}"`, `{header: x-acme-signature, grammar: pairs, separator: ",", field: v1}`, "{field: t, unit: s"}, "",
		},
		"a time of its own": {
			map[string]string{"X-Sig": "sha256=" + hex.EncodeToString(mac("v0:1760000000:"+body)), "X-Hmac-Signature": "v0=" +
				hex.EncodeToString(mac("v0:1760000000:"+body)), "X-Request-Timestamp": "1760000000"}, secret,
			[]string{`signed: "v0:{timestamp}:{body}"`, "{header: x-request-timestamp, unit: s"}, "",
		},
		"an id and milliseconds": {
			map[string]string{"Acme-Signature": base64.StdEncoding.EncodeToString(mac("m1.1760000000123." + body)), "Acme-Id": "m1",
				"Acme-Timestamp": "1760000000123"}, secret,
			[]string{`signed: "{id}.{timestamp}.{body}"`, "encoding: base64", "unit: ms", "id: {header: acme-id}"}, "",
		},
		"SHA-1": {
			map[string]string{"X-Hub-Signature": "sha1=" + hex.EncodeToString(short.Sum(nil))}, secret,
			[]string{"algorithm: sha1", `prefix: "sha1="`}, "",
		},
		"a short name": {
			map[string]string{"X-Acme-Sign": base64.StdEncoding.EncodeToString(mac(body))}, secret,
			[]string{"encoding: base64", `signed: "{body}"`, "signature: {header: x-acme-sign}"}, "",
		},
		"the shortest name": {
			map[string]string{"Sign": base64.StdEncoding.EncodeToString(mac(body))}, secret,
			[]string{"signature: {header: sign}"}, "",
		},
		"without the secret": {map[string]string{"X-Acme-Signature": "00"}, "", []string{"# TODO signed"}, "give the secret with --secret"},
		"another secret":     {map[string]string{"X-Acme-Signature": "00"}, "not the one of the sender", []string{"# TODO signed"}, "none of the common ways"},
		"a token":            {map[string]string{"X-Api-Key": "the key of nobody"}, "", []string{"token: {in: header, name: x-api-key}"}, ""},
		"nothing":            {nil, "", []string{"token: {in: query, name: key}"}, "no header looks like a signature"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Pasted{Header: map[string][]string{"content-type": {"application/json"}}, Body: []byte(body)}
			for header, value := range c.headers {
				p.Header[strings.ToLower(header)] = []string{value}
			}
			g := GuessDefinition("acme", p, c.secret)
			for _, want := range append(c.wants, "type: .body.type", "parts: [.body.event_id]", "units: [rfc3339]") {
				require.Contains(t, g.Definition, want)
			}
			told := g.Definition
			for _, line := range append(g.Found, g.Open...) {
				told += line
			}
			require.Contains(t, told, "what a retry, a resend by hand and a second subscription do")
			require.Contains(t, told, c.open)
			for _, hidden := range []string{"e-77", secret, "1760000000", "the key of nobody"} {
				require.NotContains(t, told, hidden)
			}
			checked, err := CheckPath(writeDefinitions(t, map[string]string{"acme.yaml": g.Definition}), nil)
			require.NoError(t, err)
			for _, f := range checked.Problems() {
				require.Equal(t, RuleNoSamples, f.Rule, "%s", f)
			}
		})
	}
}

// What a guess has as examples of entities and samples is valid once it is no comment any more, for each form of body.
func TestTheExamplesOfAGuessAreValid(t *testing.T) {
	t.Parallel()
	for contentType, body := range map[string]string{
		"application/json":                  `{"id":"e-77","event":"order.paid","sent_at":"2025-10-09T08:53:20Z","order":"o-1","status":"paid"}`,
		"application/x-www-form-urlencoded": `id=e-77&event=order.paid&sent_at=2025-10-09T08%3A53%3A20Z&order=o-1&status=paid`,
	} {
		p := Pasted{Header: map[string][]string{"content-type": {contentType}}, Body: []byte(body)}
		definition := GuessDefinition("acme", p, "").Definition
		before, after, found := strings.Cut(definition, "# entities:")
		require.True(t, found, definition)
		after = strings.NewReplacer("\nentities: []", "", "\nsamples: {}", "", "\n# TODO", "\n# TODO", "\n# ", "\n").Replace("entities:" + after)
		checked, err := CheckPath(writeDefinitions(t, map[string]string{"acme.yaml": before + after}), nil)
		require.NoError(t, err)
		require.Empty(t, checked.Problems(), "%s\n%s", contentType, before+after)
	}
}
