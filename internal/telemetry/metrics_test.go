package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"holdfast/internal/telemetry"
)

func start(t *testing.T, o telemetry.Options) *telemetry.Telemetry {
	t.Helper()
	o.Service = "holdfast-test"
	tel, err := telemetry.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = tel.Shutdown(ctx) // the test's back end may already be stopped
	})
	return tel
}

func counter(t *testing.T, tel *telemetry.Telemetry) metric.Int64Counter {
	t.Helper()
	c, err := tel.Meters.Meter("test").Int64Counter("holdfast_events_received_total")
	require.NoError(t, err)
	return c
}

func scrape(t *testing.T, tel *telemetry.Telemetry) string {
	t.Helper()
	res := httptest.NewRecorder()
	tel.Handler().ServeHTTP(res, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, 200, res.Code)
	return res.Body.String()
}

// Prometheus shows the documented names: no suffix is doubled, none is missing.
func TestPrometheusShowsTheNamesThatAreDocumented(t *testing.T) {
	t.Parallel()
	tel := start(t, telemetry.Options{})
	counter(t, tel).Add(t.Context(), 1)
	ack, err := tel.Meters.Meter("test").Float64Histogram("holdfast_ack_duration_seconds", metric.WithUnit("s"))
	require.NoError(t, err)
	ack.Record(t.Context(), 0.02)
	temporal := tel.TemporalMetrics(func(provider, eventType string) string { return provider + "/" + eventType })
	temporal.WithTags(map[string]string{"provider": "acme", "event_type": "order.paid"}).
		Timer("holdfast_event_duration").Record(time.Second)
	temporal.Counter("temporal_request").Inc(1)
	require.NoError(t, tel.ObserveDeadLetters(func(context.Context) (map[string]int64, error) {
		return map[string]int64{"stripe": 2}, nil
	}))

	scraped := scrape(t, tel)
	require.Contains(t, scraped, "\nholdfast_events_received_total 1\n")
	require.Contains(t, scraped, "\nholdfast_ack_duration_seconds_count 1\n")
	require.Contains(t, scraped, "\nholdfast_event_duration_seconds_count{event_type=\"acme/order.paid\",provider=\"acme\"} 1\n")
	require.Contains(t, scraped, "\ntemporal_request_total 1\n")
	require.Contains(t, scraped, "\nholdfast_dead_letters_open{provider=\"stripe\"} 2\n")
	require.Contains(t, scraped, "\ngo_goroutines ")
}

// Temporal's SDK asks for tags and instruments for each request and task.
func TestInstrumentsOfTemporalAreMadeOnce(t *testing.T) { //nolint:paralleltest // it counts allocations
	temporal := start(t, telemetry.Options{}).TemporalMetrics(nil)
	tags := map[string]string{"operation": "StartWorkflowExecution", "namespace": "default"}
	measure := func() {
		tagged := temporal.WithTags(tags)
		tagged.Counter("temporal_request").Inc(1)
		tagged.Timer("temporal_request_latency").Record(time.Second)
		tagged.Gauge("temporal_num_pollers").Update(1)
	}
	measure()
	require.LessOrEqual(t, testing.AllocsPerRun(100, measure), 1.0, "the key of the tags")
}

func TestLatenciesHaveBucketsForMilliseconds(t *testing.T) {
	t.Parallel()
	tel := start(t, telemetry.Options{})
	tel.TemporalMetrics(nil).Timer("holdfast_event_duration").Record(3 * time.Millisecond)
	scraped := scrape(t, tel)
	require.Contains(t, scraped, `holdfast_event_duration_seconds_bucket{le="0.0025"} 0`)
	require.Contains(t, scraped, `holdfast_event_duration_seconds_bucket{le="0.005"} 1`)
}

func TestInventedValuesCannotMakeSeriesWithoutEnd(t *testing.T) {
	t.Parallel()
	tel := start(t, telemetry.Options{})
	received := counter(t, tel)
	for i := range 5000 {
		received.Add(t.Context(), 1, metric.WithAttributes(attribute.String("event_type", fmt.Sprint("invented-", i))))
	}
	scraped := scrape(t, tel)
	require.Contains(t, scraped, `otel_metric_overflow="true"`)
	require.LessOrEqual(t, strings.Count(scraped, "holdfast_events_received_total{"), 4000)
}

func TestEachOf500ProvidersHasItsOwnSeries(t *testing.T) {
	t.Parallel()
	tel := start(t, telemetry.Options{})
	received := counter(t, tel)
	for provider := range 500 {
		for eventType := range 7 {
			received.Add(t.Context(), 1, metric.WithAttributes(
				attribute.Int("provider", provider), attribute.Int("event_type", eventType)))
		}
	}
	require.NotContains(t, scrape(t, tel), "overflow")
}

func TestAGaugeThatCannotBeReadHidesNoOtherMetric(t *testing.T) {
	t.Parallel()
	tel := start(t, telemetry.Options{})
	require.NoError(t, tel.ObserveDeadLetters(func(context.Context) (map[string]int64, error) {
		return nil, errors.New("database is gone")
	}))
	counter(t, tel).Add(t.Context(), 1)
	scraped := scrape(t, tel)
	require.Contains(t, scraped, "holdfast_events_received_total 1")
	require.NotContains(t, scraped, "holdfast_dead_letters_open{")
}

// Metrics read from stores and files have the documented names: schedules, secrets, certificates.
func TestTroubleThatIsToComeIsShown(t *testing.T) {
	t.Parallel()
	tel := start(t, telemetry.Options{})
	require.NoError(t, tel.ObserveSchedules(func(context.Context) (map[string]bool, error) {
		return map[string]bool{"holdfast-notify": false, "holdfast-sweep-runs": true}, nil
	}))
	require.NoError(t, tel.ObserveCertificate("temporal", time.Now().Add(-time.Hour)))
	age := 48 * time.Hour
	require.NoError(t, tel.ObserveDeliveries(func(context.Context) (telemetry.DeliveryFigures, error) {
		return telemetry.DeliveryFigures{OldestSecret: &age, Failing: map[string]string{"crm": "closed", "shop": "open"}}, nil
	}))
	scraped := scrape(t, tel)
	require.Contains(t, scraped, "\nholdfast_schedule_failing{schedule=\"holdfast-notify\"} 0\n")
	require.Contains(t, scraped, "\nholdfast_schedule_failing{schedule=\"holdfast-sweep-runs\"} 1\n")
	require.Contains(t, scraped, "\nholdfast_certificate_remaining_seconds{certificate=\"temporal\"} -3600.")
	require.Contains(t, scraped, "\nholdfast_destination_failing{breaker=\"open\",destination=\"shop\"} 1\n")
	require.Contains(t, scraped, "\nholdfast_destination_failing{breaker=\"closed\",destination=\"crm\"} 1\n")
	require.Contains(t, scraped, "\nholdfast_destination_secret_oldest_seconds 172800\n")
}

// Prometheus 3 and later accepts names with dots; the pages, rules and dashboards use the names that every version accepts.
func TestANewerPrometheusSeesTheSameNames(t *testing.T) {
	t.Parallel()
	tel := start(t, telemetry.Options{})
	gauge, err := tel.Meters.Meter("test").Int64Gauge("pgxpool.acquired_connections")
	require.NoError(t, err)
	gauge.Record(t.Context(), 3, metric.WithAttributes(attribute.String("pool.name", "side")))
	request := httptest.NewRequest("GET", "/metrics", nil)
	request.Header.Set("Accept", "text/plain;version=1.0.0;escaping=allow-utf-8")
	answer := httptest.NewRecorder()
	tel.Handler().ServeHTTP(answer, request)
	require.Contains(t, answer.Body.String(), "\npgxpool_acquired_connections{pool_name=\"side\"} 3\n")
}
