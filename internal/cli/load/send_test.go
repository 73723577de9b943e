package load

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/cli"
	"holdfast/internal/lint"
	"holdfast/providers"
	"holdfast/providers/auth"
)

// endpoint authenticates requests like an ingress, and reports duplicates.
type endpoint struct {
	*httptest.Server
	catalogue *providers.Catalogue

	mu     sync.Mutex
	keys   map[string]int
	denied []error
}

func newEndpoint(t *testing.T, secret string) *endpoint {
	t.Helper()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	r := &endpoint{catalogue: catalogue.WithSecrets(func(string) []string { return []string{secret} }), keys: map[string]int{}}
	r.catalogue = r.catalogue.WithCertificates(auth.TrialCertificates).WithKeySets(auth.TrialKeySets)
	r.Server = httptest.NewServer(http.HandlerFunc(r.receive))
	t.Cleanup(r.Close)
	return r
}

func (r *endpoint) receive(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	p, params, ok := r.catalogue.ByPath(request.URL.EscapedPath())
	if !ok {
		http.NotFound(w, request)
		return
	}
	got := &auth.Request{
		Method: request.Method, Path: request.URL.EscapedPath(), PathParams: params, Query: request.URL.Query(), Body: body,
		Header: map[string][]string{}, URL: r.URL + request.URL.RequestURI(), RemoteIP: netip.MustParseAddr("192.0.2.7"),
	}
	for name, values := range request.Header {
		got.Header[strings.ToLower(name)] = values
	}
	e := lint.Explain(p, got, time.Now())
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Refused != "" {
		r.denied = append(r.denied, fmt.Errorf("%s: %s", p.Name(), e.Refused))
		w.WriteHeader(e.Status)
		return
	}
	if e.Challenge {
		fmt.Fprint(w, e.Reply)
		return
	}
	var told []string
	for _, one := range e.Events {
		status := "accepted"
		if r.keys[one.WorkflowID]++; r.keys[one.WorkflowID] > 1 {
			status = "processed"
		}
		told = append(told, fmt.Sprintf(`{"workflow_id":%q,"event_id":"0","status":%q}`, one.WorkflowID, status))
	}
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, `{"ok":true,"events":[%s]}`, strings.Join(told, ","))
}

// The printed link leads to the Temporal Web of the installation, whatever its port and namespace.
func TestSendNamesTheTemporalWebOfTheInstallation(t *testing.T) {
	r := newEndpoint(t, secretOfTests)
	t.Chdir(t.TempDir())
	send := func() string {
		out, err := run(t, "", "send", "stripe", "--url", r.URL, "--secret", secretOfTests)
		require.NoError(t, err)
		return out
	}
	require.NotContains(t, send(), "Temporal Web")
	t.Setenv("HOLDFAST_OPERATOR_TEMPORAL_WEB", "http://127.0.0.1:9999,http://localhost:9999")
	t.Setenv("TEMPORAL_NAMESPACE", "payments")
	require.Regexp(t, `(?m)^Temporal Web  http://127\.0\.0\.1:9999/namespaces/payments/workflows/stripe:evt_\w+$`, send())
}

// A sample of every provider is authentic, whatever the scheme. The lint of definitions covers all samples.
func TestSendEverything(t *testing.T) {
	r := newEndpoint(t, secretOfTests)
	r.catalogue = r.catalogue.WithSecrets(func(string) []string { return append(auth.TrialSecrets(), secretOfTests) })
	for _, name := range r.catalogue.Names() {
		p, _ := r.catalogue.Lookup(name)
		eventType := p.SampleTypes()[0]
		out, err := run(t, "", "send", name, eventType, "--url", r.URL, "--secret", secretFor(t, p, eventType))
		require.NoError(t, err, "%s %s: %v %s", name, eventType, r.denied, out)
	}
	require.Empty(t, r.denied)
}

// secretFor returns the tests' secret, or the trial secret that the provider's scheme can sign with.
func secretFor(t *testing.T, p *providers.Provider, eventType string) string {
	t.Helper()
	for _, secret := range append([]string{secretOfTests}, auth.TrialSecrets()...) {
		r, err := p.Sample(eventType, "x", time.Now())
		require.NoError(t, err)
		if p.Sign(r, secret, time.Now()) == nil {
			return secret
		}
	}
	return ""
}

// A custom body is signed unchanged, with the headers of its type.
func TestSendAFile(t *testing.T) {
	r := newEndpoint(t, secretOfTests)
	file := filepath.Join(t.TempDir(), "body.json")
	body := []byte(`{"action":"opened","issue":{}}` + "\n")
	require.NoError(t, os.WriteFile(file, body, 0o600))
	_, err := run(t, "", "send", "github", "issues.opened", "--file", file, "--header", "X-GitHub-Delivery: mine",
		"--url", r.URL+"/webhooks/github", "--secret", secretOfTests)
	require.NoError(t, err)
	sum := sha256.Sum256(body)
	require.Equal(t, map[string]int{"github:mine:" + hex.EncodeToString(sum[:]): 1}, r.keys)
	_, err = run(t, `{"id":"evt_7","type":"x"}`, "send", "stripe", "--file", "-", "--url", r.URL, "--secret", secretOfTests)
	require.NoError(t, err)
	require.Equal(t, 1, r.keys["stripe:evt_7"])
}

// A given header takes precedence, even over a signature.
func TestAGivenHeaderTakesThePlaceOfASignature(t *testing.T) {
	r := newEndpoint(t, secretOfTests)
	out, err := run(t, "", "send", "github", "push", "--url", r.URL, "--secret", secretOfTests,
		"--header", "X-Hub-Signature-256: sha256="+strings.Repeat("0", 64))
	require.ErrorContains(t, err, "the event was not accepted", out)
	require.ErrorContains(t, r.denied[0], "bad_signature")
}

// A custom body whose type is in a header needs a type, unless the header is given.
func TestSendAFileAsksForTheType(t *testing.T) {
	r := newEndpoint(t, secretOfTests)
	file := filepath.Join(t.TempDir(), "body.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"action":"opened"}`), 0o600))
	to := []string{"--file", file, "--url", r.URL, "--secret", secretOfTests}
	for provider, header := range map[string]string{"github": "x-github-event", "bitbucket": "x-event-key", "shopify": "x-shopify-topic"} {
		for _, args := range [][]string{{"send", provider}, {"send", provider, "nothing.known"}} {
			_, err := run(t, "", append(args, to...)...)
			require.ErrorContains(t, err, "the type of "+provider+" events is in "+header)
			require.ErrorContains(t, err, "name the type (")
		}
	}
	require.Empty(t, r.keys, "nothing was sent")
	_, err := run(t, "", append([]string{"send", "github", "--header", "X-GitHub-Event: issues"}, to...)...)
	require.NoError(t, err)
	_, err = run(t, "", append([]string{"send", "standard-webhooks"}, to...)...)
	require.NoError(t, err, "one that has its ID in a header gets one")
	_, err = run(t, `{"topic":"Customer","action":"update"}`, "send", "shopify", "--file", "-", "--url", r.URL, "--secret", secretOfTests)
	require.NoError(t, err, "the type may be in the body")
	require.Len(t, r.keys, 3)
	require.Empty(t, r.denied)
}

// If the provider's response names no event, the sent event is named.
func TestSendNamesTheEventOfAnAnswerThatDoesNot(t *testing.T) {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(endpoint.Close)
	out, err := run(t, "", "send", "slack", "app_mention", "--url", endpoint.URL, "--secret", secretOfTests)
	require.NoError(t, err)
	require.Regexp(t, `204 No Content in [^\n]*\n+event  .* event show slack:Ev`, out)
	out, err = run(t, "", "send", "slack", "url_verification", "--url", endpoint.URL, "--secret", secretOfTests)
	require.NoError(t, err)
	require.NotContains(t, out, "event show", "a handshake is no event")
}

// Without a type a provider sends its first sample; if the secret must have a certain format, the error says so.
func TestSendWithoutAType(t *testing.T) {
	r := newEndpoint(t, secretOfTests)
	for _, name := range []string{"stripe", "gocardless", "github", "twilio", "evolution", "slack", "mollie"} {
		_, err := run(t, "", "send", name, "--url", r.URL, "--secret", secretOfTests)
		require.NoError(t, err, "%s: %v", name, r.denied)
	}
	require.Empty(t, r.denied)
	_, err := run(t, "", "send", "adyen", "--url", r.URL, "--secret", secretOfTests)
	require.ErrorContains(t, err, "unusable_secret")
}

func TestSendRefusals(t *testing.T) {
	for wanted, args := range map[string][]string{
		"did you mean stripe?": {"send", "strip"},
		"`make run` sets it at its start, for commands in the same folder":       {"send", "stripe", "customer.updated"},
		"for a definition of your own, set HOLDFAST_PROVIDERS_DIR to its folder": {"send", "orders"},
		"sample of stripe: \"nothing\"":                                          {"send", "stripe", "nothing", "--secret", "s"},
		"invalid URL":                                                            {"send", "stripe", "--url", "ftp://x", "--secret", "s"},
	} {
		_, err := run(t, "", args...)
		require.ErrorContains(t, err, wanted)
	}
	_, err := run(t, "", "send", "stripe", "customer.update", "--secret", "s")
	require.ErrorContains(t, err, "did you mean customer.updated?")
	require.Equal(t, 2, cli.ExitCode(err), "nothing was tried")
	_, err = run(t, "", "send", "rentprog", "car_update", "--url", "http://127.0.0.1:1", "--secret", "s3cret-token")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "s3cret-token")
}

// The printed command can be pasted into a shell.
func TestWordsForAShell(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"stripe:evt_1": "stripe:evt_1", "acme:a b": "'acme:a b'", "acme:it's": `'acme:it'\''s'`, "acme:$(x)": "'acme:$(x)'",
	} {
		require.Equal(t, want, quoted(word))
	}
}
