package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/providers/auth"
	"holdfast/providers/definition"
)

// The key pair of the seed 0123456789abcdef0123456789abcdef.
const (
	privateKey = "whsk_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	publicKey  = "whpk_I7xUkSwebpLEqGglyGfif/3FVb/71CRPF6Jqv//ull0="
)

// declarations are the schemes of all built-in definitions, by provider and place, as a destination declares them.
func declarations(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	files, err := definition.Collect(os.DirFS("../../providers/catalog"))
	require.NoError(t, err)
	all := map[string]json.RawMessage{}
	for name, file := range files {
		schemes, _ := file.Tree["auth"].([]any)
		for i, scheme := range schemes {
			leaveOutReceiving(scheme.(map[string]any))
			text, err := json.Marshal(scheme)
			require.NoError(t, err)
			var p definition.Problems
			d, _ := p.Read(nil, definition.File{Tree: map[string]any{"auth": []any{scheme}}})
			namesHeader := strings.Contains(string(text), "{header:") // such as Plivo's nonce, which no delivery has
			if one := d.Auth[0]; one.Address == nil && one.Certificate == nil && !isForReceiving(one.JWT) && !signsInBody(one) && !namesHeader {
				all[name+" "+strconv.Itoa(i)] = text
			}
		}
	}
	return all
}

// leaveOutReceiving removes what only says which requests are accepted.
func leaveOutReceiving(scheme map[string]any) {
	delete(scheme, "when")
	if hmac, is := scheme["hmac"].(map[string]any); is {
		if signature, is := hmac["signature"].(map[string]any); is {
			delete(signature, "numbered")
			delete(signature, "repeated")
		}
	}
}

// endpointOf authenticates as we do ourselves.
func endpointOf(t *testing.T, declared json.RawMessage, secrets ...string) *auth.Authenticator {
	t.Helper()
	var tree map[string]any
	require.NoError(t, json.Unmarshal(declared, &tree))
	var p definition.Problems
	d, _ := p.Read(nil, definition.File{Tree: map[string]any{"auth": []any{tree}}})
	a := auth.New(&p, d.Auth, "SECRETS", nil)
	require.NoError(t, p.Err())
	return a.WithSecrets(func(string) []string { return strings.Fields(strings.Join(secrets, " ")) })
}

// asReceived is a request as our own ingress hands it to an authenticator.
func asReceived(r request) *auth.Request {
	header := map[string][]string{}
	for name, values := range maps.All(r.Header) {
		header[strings.ToLower(name)] = values
	}
	segments := strings.Split(r.URL.Path, "/")
	return &auth.Request{
		Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.Query(), Header: header, Body: r.body,
		URL: "http://" + r.Host + r.RequestURI, RemoteIP: netip.MustParseAddr("127.0.0.1"),
		PathParams: map[string]string{"token": segments[len(segments)-1]},
	}
}

// A custom sender that signs like any of the providers can be replaced by Holdfast without a change of its endpoints. A request
// signed by a declaration passes authentication by the same declaration, and fails when it is changed or signed with another
// secret.
func TestDeclaredSignaturesAreOurOwnGrammar(t *testing.T) {
	t.Parallel()
	endpoint := newEndpoint(t, nil)
	s := newTestSender(t)
	all := declarations(t)
	require.Greater(t, len(all), 20)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		declared := all[name]
		target := to(endpoint.URL + "/hooks/mine?tenant=7")
		target.Destination.HTTP.Signature = declared
		verifies, other := newestSecret, olderSecret
		trial := &auth.Request{Method: "POST", Path: "/x", Header: map[string][]string{}, Body: []byte("{}"), URL: "https://hooks.example.com/"}
		if endpointOf(t, declared, newestSecret).Sign(trial, newestSecret, time.Now()) != nil && !strings.Contains(string(declared), "whpk_") {
			target.Secrets, verifies, other = auth.TrialSecrets(), strings.Join(auth.TrialSecrets(), " "), newestSecret
		} else if strings.Contains(string(declared), "ed25519") {
			target.Secrets, verifies, other = []string{privateKey}, publicKey, "whpk_"+strings.TrimPrefix(newestSecret, "whsec_")
		}
		got := endpoint.deliver(t, s, target, messageOf(`{"id": "evt_1", "amount": 12345678901234567890}`))
		now := time.Now()
		require.NoError(t, endpointOf(t, declared, verifies).Authenticate(asReceived(got), now), name)
		require.Error(t, endpointOf(t, declared, other).Authenticate(asReceived(got), now), name)
		require.Equal(t, eventID, got.Header.Get("Webhook-Id"), name)
		require.Equal(t, "7", got.URL.Query().Get("tenant"), name)
		if strings.Contains(string(declared), "{body}") {
			got.body = append(got.body, ' ')
			require.Error(t, endpointOf(t, declared, verifies).Authenticate(asReceived(got), now), name)
		}
	}
}

// A sender of your own: its header for the delivery, its header for the time in milliseconds, its text, its prefix.
func TestASenderOfYourOwnMoves(t *testing.T) {
	t.Parallel()
	endpoint := newEndpoint(t, nil)
	s := newTestSender(t)
	declared := json.RawMessage(`{"hmac": {
		"signed": "{id}:{timestamp}:{url}:{body}", "algorithm": "sha1",
		"signature": {"header": "X-Acme-Signature", "grammar": "pairs", "separator": ";", "field": "s"},
		"timestamp": {"header": "X-Acme-Time", "unit": "ms"}, "id": {"header": "X-Acme-Delivery"}
	}}`)
	target := to(endpoint.URL + "/hooks")
	target.Destination.HTTP.Signature, target.Secrets = declared, []string{newestSecret, olderSecret}
	got := endpoint.deliver(t, s, target, messageOf(`{}`))
	require.Equal(t, eventID, got.Header.Get("X-Acme-Delivery"))
	require.Len(t, got.Header.Get("X-Acme-Time"), 13)
	require.Equal(t, 2, strings.Count(got.Header.Get("X-Acme-Signature"), "s="))
	for _, secret := range target.Secrets {
		require.NoError(t, endpointOf(t, declared, secret).Authenticate(asReceived(got), time.Now()))
	}

	for _, generation := range []int{0, 3} {
		s.Send(t.Context(), target, jobOf(generation), messageOf(`{}`))
		require.Equal(t, delivery.IDOf(eventID, generation), (<-endpoint.got).Header.Get("X-Acme-Delivery"))
	}
}

// A stored secret is text for any signature: a signature that is declared later uses the same text as the endpoint.
func TestTextAsASecret(t *testing.T) {
	t.Parallel()
	const text = "an old plain secret"
	endpoint := newEndpoint(t, nil)
	s := newTestSender(t)
	target := to(endpoint.URL + "/hooks")
	target.Secrets = []string{text}
	got := endpoint.deliver(t, s, target, messageOf(`{}`))
	require.NoError(t, endpointOf(t, json.RawMessage(standardWebhooks), delivery.StandardSecret(text)).
		Authenticate(asReceived(got), time.Now()))

	declared := json.RawMessage(`{"hmac": {"key": "text", "signed": "{body}", "signature": {"header": "X-Acme-Signature"}}}`)
	target.Destination.HTTP.Signature = declared
	got = endpoint.deliver(t, s, target, messageOf(`{}`))
	require.NotEmpty(t, got.Header.Get("X-Acme-Signature"))
	mac := hmac.New(sha256.New, []byte(text))
	mac.Write([]byte(`{}`))
	require.Equal(t, hex.EncodeToString(mac.Sum(nil)), got.Header.Get("X-Acme-Signature"))
}

// A list of signatures behind a prefix, as Outpost sends it: an endpoint that knows either secret finds its own.
func TestAListWithAPrefixCoversARotation(t *testing.T) {
	t.Parallel()
	endpoint := newEndpoint(t, nil)
	s := newTestSender(t)
	declared := json.RawMessage(`{"hmac": {
		"signed": "{body}", "signature": {"header": "x-outpost-signature", "grammar": "list", "separator": ",", "prefix": "v0="}
	}}`)
	target := to(endpoint.URL + "/hooks")
	target.Destination.HTTP.Signature, target.Secrets = declared, []string{newestSecret, olderSecret}
	got := endpoint.deliver(t, s, target, messageOf(`{}`))
	require.Regexp(t, `^v0=[0-9a-f]{64},[0-9a-f]{64}$`, got.Header.Get("x-outpost-signature"))
	for _, secret := range target.Secrets {
		require.NoError(t, endpointOf(t, declared, secret).Authenticate(asReceived(got), time.Now()))
	}
	got.Header.Set("x-outpost-signature", strings.TrimPrefix(got.Header.Get("x-outpost-signature"), "v0="))
	require.Error(t, endpointOf(t, declared, newestSecret).Authenticate(asReceived(got), time.Now()))
}

// A token that only its sender can make, or that is for what is received, signs no delivery.
func TestTokensOfSendersSignNoDelivery(t *testing.T) {
	t.Parallel()
	for _, more := range []string{
		`"keys": {"url": "https://{A}/jwks"}`, `"chain": {"roots": []}`, `"detached": "{body}", "header": "x-token"`, `"payload": "a"`,
		`"body": "a"`,
	} {
		_, err := newSigner(`{"jwt": {"algorithm": "ES512", ` + more + `}}`)
		require.ErrorContains(t, err, "are for requests that are received", more)
	}
	_, err := newSigner(`{"jwt": {"header": "x-token", "algorithm": "ES512"}}`)
	require.NoError(t, err)
}
