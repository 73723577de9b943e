package e2e

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A refusal says what to do, and has the request's own ID.
func TestARefusalIsReadable(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "ingress")
	a, err := n.post("/webhooks/unknown", []byte("{}"), "X-Request-Id", "request-7", "X-Correlation-Id", "chain-1")
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, a.status)
	require.Equal(t, "chain-1", a.header.Get("X-Correlation-Id"))
	var body map[string]map[string]string
	require.NoError(t, json.Unmarshal(a.body, &body))
	require.Equal(t, "request-7", body["error"]["request_id"])
	require.NotEmpty(t, body["error"]["message"])
}

// Requests that a real ingress refuses are counted by provider and minute. Those that it accepts aren't, nor those for a provider
// that doesn't exist.
func TestRefusedRequestsAreCountedInTheDatabase(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "ingress")
	body := customerUpdated(uniqueID("evt"), "cus_1", "Ada", time.Now())
	before := time.Now().Truncate(time.Minute)
	for path, c := range map[string]struct {
		signature string
		status    int
	}{
		"/webhooks/stripe": {sign(body, "whsec_of_somebody", time.Now()), http.StatusUnauthorized},
		"/webhooks/paddle": {"", http.StatusUnauthorized},
		"/webhooks/nobody": {"", http.StatusNotFound},
	} {
		for range 3 {
			a, err := n.post(path, body, "Stripe-Signature", c.signature)
			require.NoError(t, err)
			require.Equal(t, c.status, a.status, path)
		}
	}
	const unauthenticated = "SELECT coalesce(sum(unauthenticated), 0) FROM refused_minutes"
	i.awaitCount(t, time.Minute, 3, unauthenticated+" WHERE provider = 'stripe'")
	require.Equal(t, 3, i.count(t, unauthenticated), "paddle has no secret here")
	out, err := i.run(t, "doctor", "--json")
	require.Contains(t, out, "providers without an event since: stripe 3", err)
	a, err := n.post("/webhooks/stripe", body, "Stripe-Signature", sign(body, secret, time.Now()))
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, a.status)
	i.awaitCount(t, time.Minute, 3, "SELECT coalesce(sum(requests), 0) FROM refused_minutes WHERE provider = 'stripe'")
	i.awaitCount(t, time.Minute, 6, "SELECT sum(requests) FROM refused_minutes")
	require.Zero(t, i.count(t, "SELECT count(*) FROM refused_minutes WHERE provider <> '' AND (minute NOT BETWEEN $1 AND $2)",
		before, time.Now()))
	require.Zero(t, i.count(t, "SELECT count(*) FROM refused_minutes WHERE minute <> date_trunc('minute', minute) AND provider <> ''"))
}
