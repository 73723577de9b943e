package ingress

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace"
)

// A storm of one kind of refusal:
//   - the log gets a hundred lines, then ten a second, each with the number of dropped lines
//   - another provider, or another reason, has its own limit
func TestAStormOfRefusalsDoesNotFillTheLog(t *testing.T) {
	t.Parallel()
	var lines refusalLines
	forged := refusalKind{"stripe", "bad_signature"}
	now := time.Unix(1, 0)
	written := 0
	for range 1000 {
		if ok, suppressed := lines.allow(forged, now); ok {
			require.Zero(t, suppressed)
			written++
		}
	}
	require.Equal(t, 100, written)
	for _, other := range []refusalKind{{"github", "bad_signature"}, {"stripe", "stale_timestamp"}} {
		ok, suppressed := lines.allow(other, now)
		require.True(t, ok, other)
		require.Zero(t, suppressed, other)
	}

	ok, suppressed := lines.allow(forged, now.Add(100*time.Millisecond))
	require.True(t, ok)
	require.Equal(t, 900, suppressed)
	ok, _ = lines.allow(forged, now.Add(101*time.Millisecond))
	require.False(t, ok)
	ok, suppressed = lines.allow(forged, now.Add(200*time.Millisecond))
	require.True(t, ok)
	require.Equal(t, 1, suppressed)
}

// A hundred of a hundred and fifty sudden refusals are logged; accepted and failed requests are always logged.
func TestRefusalsAreLoggedInPart(t *testing.T) {
	t.Parallel()
	server, err := New(Options{MaxConns: 1})
	require.NoError(t, err)
	server.now = func() time.Time { return time.Unix(1, 0) }
	report := func(id, outcome string, status int) {
		server.report(&observation{ctx: t.Context(), receivedAt: server.now(), outcome: outcome, requestID: id}, status, nil)
	}
	for n := range 150 {
		report(fmt.Sprintf("refused-%d-", n), outcomeRefused, 401)
	}
	report("accepted-then", "accepted", 202)
	report("failed-then", outcomeRefused, 503)
	for id, want := range map[string]bool{
		"refused-0-": true, "refused-99-": true, "refused-100-": false, "refused-149-": false, "accepted-then": true, "failed-then": true,
	} {
		require.Equal(t, want, logged.has(id), id)
	}
}

// Only an authentic request has a trace; it begins at the request's arrival and has no parent that a sender could forge.
func TestOnlyAuthenticRequestsAreTraced(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	before, forged, authentic := time.Now(), uuid.NewString(), uuid.NewString()
	for id, sign := range map[string]bool{forged: false, authentic: true} {
		d.deliver(t, "standard-webhooks", "/webhooks/standard-webhooks", note, sign, "webhook-id", id, "x-request-id", id,
			"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	}
	require.Empty(t, spansOf(forged))
	require.Eventually(t, func() bool { return len(spansOf(authentic)) > 0 }, 5*time.Second, time.Millisecond)
	span := spansOf(authentic)[0]
	require.WithinRange(t, span.StartTime(), before, time.Now())
	require.False(t, span.Parent().IsValid())
	require.Len(t, span.Links(), 1)
	require.Equal(t, "receive webhook", span.Name())
}

func spansOf(requestID string) (found []trace.ReadOnlySpan) {
	for _, span := range traced.Ended() {
		if slices.Contains(span.Attributes(), attribute.String("holdfast.request_id", requestID)) {
			found = append(found, span)
		}
	}
	return found
}
