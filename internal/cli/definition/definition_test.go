package definition

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/internal/lint"
	"holdfast/providers"
)

// A definition can be created, checked, listed and tried without any server.
func TestWriteADefinition(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOLDFAST_PROVIDERS_DIR", dir)
	t.Setenv("ACME_WEBHOOK_SECRET", secretOfTests)

	printed, err := run(t, "", "provider", "new", "acme")
	require.NoError(t, err)
	file := filepath.Join(dir, "acme.yaml")
	_, err = run(t, "", "provider", "new", "acme", "--dir", dir)
	require.NoError(t, err)
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, printed, string(written))
	_, err = run(t, "", "provider", "new", "acme", "--dir", dir)
	require.ErrorIs(t, err, os.ErrExist)
	_, err = run(t, "", "provider", "new", "Acme!")
	require.ErrorContains(t, err, "invalid name")

	out, err := run(t, "", "provider", "check", file)
	require.NoError(t, err)
	require.Equal(t, "ok: acme\n", out)
	out, err = run(t, "", "provider", "check", file, "--catalogue")
	require.NoError(t, err)
	require.Regexp(t, "(?s)^advice: acme.yaml: .*\nok: acme\n$", out)
	out, err = run(t, "", "provider", "check", file, "--json")
	require.NoError(t, err)
	require.NotContains(t, out, `"rule": "invalid"`)
	out, err = run(t, "", "provider", "check")
	require.NoError(t, err)
	require.Contains(t, out, "ok: acme, adyen, ")

	out, err = run(t, "", "provider", "list")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^acme +acme +configured +own +none +/webhooks/acme$`, out)
	require.Regexp(t, `(?m)^gocardless +GoCardless +missing +built-in +vectors +/webhooks/gocardless /webhook/gocardless$`, out)

	out, err = run(t, "", "provider", "show", "acme")
	require.NoError(t, err)
	require.Contains(t, out, "# secrets: ACME_WEBHOOK_SECRET\n# state:   configured\n\nname: acme\n")
	_, err = run(t, "", "provider", "show", "nobody")
	require.ErrorContains(t, err, `no provider "nobody"; did you mean `)
	require.NotContains(t, err.Error(), "HOLDFAST_PROVIDERS_DIR", "it is set")
}

// Errors have a position, and the command fails.
func TestCheckFails(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOLDFAST_PROVIDERS_DIR", dir)
	text, err := providers.Skeleton("acme")
	require.NoError(t, err)
	file := filepath.Join(dir, "acme.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text+"what: 1\n"), 0o600))
	out, err := run(t, "", "provider", "check")
	require.ErrorContains(t, err, "1 to fix")
	require.Equal(t, fmt.Sprintf("acme.yaml:%d:1: what: is not a field; did you mean why? [invalid]\n", strings.Count(text, "\n")+1), out)

	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	t.Setenv("ACME_WEBHOOK_SECRET", "changeme")
	out, err = run(t, "", "provider", "check", dir)
	require.Error(t, err)
	require.Contains(t, out, "ACME_WEBHOOK_SECRET is a placeholder")
	t.Setenv("ACME_WEBHOOK_SECRET", "")
	empty := filepath.Join(dir, "secret")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	t.Setenv("ACME_WEBHOOK_SECRET_FILE", empty)
	out, err = run(t, "", "provider", "check", file, "--json")
	require.Error(t, err)
	var checked lint.Checked
	require.NoError(t, json.Unmarshal([]byte(out), &checked))
	require.Equal(t, lint.RuleSecret, checked.Findings[0].Rule)
	require.Contains(t, checked.Findings[0].Message, "is empty or cannot be read")
}

// A recorded request is explained: a GoCardless batch, event by event.
func TestExplainARequest(t *testing.T) {
	now := time.Unix(1_760_000_000, 0)
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	p, _ := catalogue.Lookup("gocardless")
	r, err := p.Sample("payments.confirmed", "x1", now)
	require.NoError(t, err)
	require.NoError(t, p.Sign(r, secretOfTests, now))
	body := filepath.Join(t.TempDir(), "body.json")
	require.NoError(t, os.WriteFile(body, r.Body, 0o600))
	args := []string{
		"provider", "explain", "gocardless", "--file", body, "--header", "Webhook-Signature: " + r.Header["webhook-signature"][0],
		"--now", "1760000000",
	}

	out, err := run(t, "", append(args, "--secret", secretOfTests)...)
	require.NoError(t, err)
	for _, line := range []string{
		`authentic +yes, by auth\[0\]: HMAC in webhook-signature, with GOCARDLESS_WEBHOOK_SECRET`, `reply +200 OK`,
		`event 1 of 2`, `workflow +gocardless:EV1x1`, `key +EV1x1 \(from the parts of the key\)`,
		`key.parts\[0\] +\.body\.id  gave EV1x1`, `type +payments.confirmed`,
		`occurred +2025-10-09T08:53:20Z, from \.body\.created_at \(rfc3339\)`, `priority +normal`, `lane +a workflow of its own`, `duplicate +forever`,
		`retries +4 attempts of 3m each: at once, then after 2m, 4m, 8m \(14m in all, ± 0 %\)`, `patch payment PMSAMPLE .*`, `event 2 of 2`,
		`workflow +gocardless:EV2x1`,
	} {
		require.Regexp(t, "(?m)^ *"+line+"$", out)
	}
	require.NotContains(t, out, secretOfTests)

	out, err = run(t, "", append(args, "--json", "--secret", "another secret")...)
	require.ErrorContains(t, err, "refused: bad_signature")
	var e lint.Explanation
	require.NoError(t, json.Unmarshal([]byte(out), &e))
	require.Equal(t, 498, e.Status)
	out, err = run(t, "", args...)
	require.ErrorContains(t, err, "refused: no_secret")
	require.Contains(t, out, "refused: no_secret")
	require.Regexp(t, `(?m)^next +set the variable that the definition names`, out)
}

// show and explain print a definition's rate limits and automatic replay, its own or the configured defaults.
func TestLimitsAndReplayAreStated(t *testing.T) {
	t.Setenv("HOLDFAST_PROVIDERS_RATE", "100/1m")
	t.Setenv("HOLDFAST_REPLAY_ATTEMPTS", "5")
	for name, want := range map[string][2]string{
		"stripe": {
			"2000 requests in 1m",
			"automatically after 1h, then each time after twice as long, up to 5 times",
		},
		"rentprog": {
			"30 requests in 1s from one address to one process",
			"automatically after 1m, then each time after twice as long, up to 3 times",
		},
		"gocardless": {"100 requests in 1m", ""},
		"github":     {"none", ""},
	} {
		shown, err := run(t, "", "provider", "show", name)
		require.NoError(t, err)
		require.Contains(t, shown, "# limits:  "+want[0]+"\n")
		require.Contains(t, shown, "# replay: "+want[1])
		explained, _ := run(t, "{}", "provider", "explain", name, "--file", "-")
		require.Regexp(t, "(?m)^limits +"+want[0]+"$", explained)
		require.Regexp(t, "(?m)^replay +"+want[1], explained)
	}
}

// A request's path, query, address and time count as on arrival; --sign is for testing only the mapping.
func TestExplainPartsOutsideTheBody(t *testing.T) {
	const body = `{"event":"car_update","payload":"{\"id\"=>65001}"}`
	explain := func(args ...string) (string, error) {
		return run(t, body, append([]string{"provider", "explain", "rentprog", "--file", "-"}, args...)...)
	}
	out, err := explain("--url", "https://hooks.example.com/webhooks/rentprog/tok3n-of-the-tests", "--secret", "tok3n-of-the-tests")
	require.NoError(t, err)
	require.Contains(t, out, "auth[0]: token in path token")
	require.Contains(t, out, "from the SHA-256 of the JSON value of the body")
	_, err = explain("--url", "/webhooks/rentprog?key=tok3n-of-the-tests", "--secret", "tok3n-of-the-tests")
	require.NoError(t, err)
	_, err = explain("--remote-ip", "192.0.2.7", "--secret", "192.0.2.0/24")
	require.NoError(t, err)
	_, err = explain("--remote-ip", "198.51.100.7", "--secret", "192.0.2.0/24")
	require.Error(t, err)
	out, err = explain("--url", "https://hooks.example.com/webhooks/stripe", "--secret", "tok3n-of-the-tests")
	require.ErrorContains(t, err, "missing_token")
	require.Regexp(t, `elsewhere +the path /webhooks/stripe is none of rentprog, which has: .* as if a proxy had rewritten it`, out)
	out, err = explain("--url", "https://hooks.example.com/hooks/rentprog?key=tok3n-of-the-tests", "--secret", "tok3n-of-the-tests")
	require.NoError(t, err, "behind a proxy the path may be another")
	require.Contains(t, out, "the path /hooks/rentprog is none of")
	out, err = explain("--sign", "--json")
	require.NoError(t, err)
	var e lint.Explanation
	require.NoError(t, json.Unmarshal([]byte(out), &e))
	require.Equal(t, event.KeyFromBody, e.Events[0].KeyFrom)
	for _, args := range [][]string{{"--remote-ip", "x"}, {"--header", "no colon"}, {"--url", ":"}} {
		_, err = explain(args...)
		require.Error(t, err)
	}
}

// A placeholder secret doesn't hide whether the signature matches, and --json says whether the request is authentic.
func TestAPlaceholderDoesNotHideTheSignature(t *testing.T) {
	now := time.Unix(1_760_000_000, 0)
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	p, _ := catalogue.Lookup("github")
	r, err := p.Sample("push", "x1", now)
	require.NoError(t, err)
	require.NoError(t, p.Sign(r, "changeme", now))
	explain := func(signature string, more ...string) (e lint.Explanation, err error) {
		args := []string{"provider", "explain", "github", "--file", "-", "--header", "X-GitHub-Event: push",
			"--header", "X-Hub-Signature-256: " + signature, "--json"}
		out, err := run(t, string(r.Body), append(args, more...)...)
		require.NoError(t, json.Unmarshal([]byte(out), &e))
		return e, err
	}
	good := r.Header["x-hub-signature-256"][0]
	e, err := explain(good, "--secret", "changeme")
	require.ErrorContains(t, err, "placeholder_secret")
	require.False(t, e.Authentic)
	require.Contains(t, e.Refusal.Otherwise, "the request is right for this secret")
	e, err = explain("sha256="+strings.Repeat("0", 64), "--secret", "changeme")
	require.ErrorContains(t, err, "placeholder_secret")
	require.Contains(t, e.Refusal.Otherwise, "refused all the same: bad_signature")
	require.NoError(t, p.Sign(r, secretOfTests, now))
	e, err = explain(r.Header["x-hub-signature-256"][0], "--secret", secretOfTests)
	require.NoError(t, err)
	require.True(t, e.Authentic)
}

// A definition's list replaces the whole list that it extends: check and show say so without calling it an error.
func TestReplacedEventsAreReported(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOLDFAST_PROVIDERS_DIR", dir)
	text := "name: gocardless\nextends: gocardless\nentities:\n  - types: [\"payments.*\"]\n    kind: payment\n    id: .body.links.payment\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gocardless.yaml"), []byte(text), 0o600))
	const told = "entities: these 1 take the place of the "
	out, err := run(t, "", "provider", "check", dir)
	require.NoError(t, err, out)
	require.Contains(t, out, "note: gocardless.yaml: "+told)
	const off = "note: gocardless.yaml: fetch and recover are off: set GOCARDLESS_ACCESS_TOKEN"
	require.Contains(t, out, off)
	t.Setenv("GOCARDLESS_ACCESS_TOKEN", "live_token_of_tests")
	out, err = run(t, "", "provider", "check", dir)
	require.NoError(t, err, out)
	require.NotContains(t, out, off)
	out, err = run(t, "", "provider", "show", "gocardless")
	require.NoError(t, err)
	require.Contains(t, out, "# note:    "+told)
	require.Contains(t, out, "# proof:   vectors\n")
	out, err = run(t, "", "provider", "show", "calendly")
	require.NoError(t, err)
	require.Contains(t, out, "# proof:   documentation, unproven\n")
	out, err = run(t, "", "provider", "list")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^calendly .* documentation, unproven `, out)
}
