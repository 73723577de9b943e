package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// span is one span in the console exporter's format.
type span struct {
	Name        string
	SpanContext struct{ TraceID string }
	Attributes  []struct {
		Key   string
		Value struct{ Value any }
	}
}

// One event, one trace:
//   - from the HTTP request through the workflow to the statements of its steps, in the same trace
//   - the sender's own trace isn't joined, because it could be forged
func TestAnEventIsOneTrace(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve", "OTEL_TRACES_EXPORTER=console", "OTEL_BSP_SCHEDULE_DELAY=100")
	body := customerUpdated(uniqueID("evt"), uniqueID("cus"), "Ada", time.Now())
	claimed := "4bf92f3577b34da6a3ce929d0e0e4736"
	a, err := n.post("/webhooks/stripe", body, "Stripe-Signature", sign(body, secret, time.Now()),
		"traceparent", "00-"+claimed+"-00f067aa0ba902b7-01")
	require.NoError(t, err)
	require.Equal(t, 202, a.status)
	i.awaitCount(t, 30*time.Second, 1, processedEvents)
	n.terminate(t)

	traces, texts := map[string][]string{}, map[string]string{}
	for _, s := range spans(n.log.String()) {
		id := s.SpanContext.TraceID
		traces[id] = append(traces[id], s.Name)
		for _, a := range s.Attributes {
			if text, ok := a.Value.Value.(string); ok && a.Key == "db.query.text" {
				texts[id] += text + "\n"
			}
		}
	}
	require.NotContains(t, traces, claimed)
	for id, names := range traces {
		if !strings.Contains(fmt.Sprint(names), "receive webhook") {
			continue
		}
		for _, want := range []string{"StartWorkflow:ProcessEvent", "RunWorkflow:ProcessEvent", "BATCH"} {
			require.Contains(t, names, want)
		}
		require.NotContains(t, fmt.Sprint(names), "Activity:", "a step that succeeds has no span")
		require.Contains(t, texts[id], "INSERT INTO events")
		require.Contains(t, texts[id], "commit")
		return
	}
	require.FailNow(t, "no trace begins with the request")
}

// spans reads the JSON objects among the lines of a log.
func spans(log string) []span {
	var all []span
	for rest := log; ; {
		start := strings.Index(rest, "{")
		if start < 0 {
			return all
		}
		decoder := json.NewDecoder(strings.NewReader(rest[start:]))
		var s span
		if decoder.Decode(&s) == nil && s.Name != "" {
			all = append(all, s)
		}
		rest = rest[start+max(1, int(decoder.InputOffset())):]
	}
}
