package e2e

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// The metrics that operators chart:
//   - events and their durations by type, if the definition names it; types that a sender invents share one label
//   - the sizes of the task queues, whether schedules are failing, and the latencies of the last minute
func TestMetricsKnowTypesAndQueues(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	for _, eventType := range []string{"customer.updated", "zebra.first", "zebra.second"} {
		id := uniqueID("evt")
		body := customerUpdated(id, uniqueID("cus"), "Ada", time.Now())
		body = bytes.ReplaceAll(body, []byte("customer.updated"), []byte(eventType))
		n.send(t, body)
		i.awaitStatus(t, "stripe:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
		if eventType == "customer.updated" {
			n.awaitProcessed(t, body)
		}
	}
	var metrics string
	eventually(t, time.Minute, "the durations are counted, queues and schedules have been asked", func() error {
		metrics = n.metrics(t)
		if !durationsOfOthers.MatchString(metrics) || !strings.Contains(metrics, `holdfast_queue_backlog{queue="events"} 0`) ||
			!strings.Contains(metrics, `holdfast_schedule_failing{schedule="holdfast-sweep-runs"} 0`) {
			return errors.New("not yet")
		}
		return nil
	})
	for _, line := range []string{
		`holdfast_events_received_total{duplicate="false",event_type="customer.updated",provider="stripe",state="accepted"} 1`,
		`holdfast_events_received_total{duplicate="false",event_type="other",provider="stripe",state="accepted"} 2`,
		`holdfast_events_received_total{duplicate="true",event_type="customer.updated",provider="stripe",state="processed"} 1`,
		`holdfast_queue_oldest_seconds{queue="events-critical"} 0`,
		`holdfast_ack_last_minute_seconds{figure="average"} `,
		`holdfast_ack_last_minute_seconds{figure="p95"} `,
	} {
		require.Contains(t, metrics, line)
	}
	require.Regexp(t, `holdfast_event_duration_seconds_count\{[^}]*event_type="customer.updated"[^}]*\} 1\n`, metrics)
	require.NotContains(t, metrics, "zebra")
}

// Temporal's SDK adds its own attributes.
var durationsOfOthers = regexp.MustCompile(
	`holdfast_event_duration_seconds_count\{[^}]*event_type="other"[^}]*outcome="processed"[^}]*\} 2\n`)
