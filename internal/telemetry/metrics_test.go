package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
		_ = tel.Shutdown(ctx) // a back end of the test may be gone by now
	})
	return tel
}

func scrape(t *testing.T, tel *telemetry.Telemetry) string {
	t.Helper()
	res := httptest.NewRecorder()
	tel.Handler().ServeHTTP(res, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, 200, res.Code)
	return res.Body.String()
}

// record uses every instrument once.
func record(ctx context.Context, m *telemetry.Metrics) error {
	m.EventReceived(ctx, "stripe", "accepted")
	m.RequestRejected(ctx, "stripe", "invalid_signature")
	m.RequestStarted(ctx, "stripe")(202)
	m.EventFinished(ctx, "stripe", "processed", 40*time.Millisecond)
	m.StepFinished(ctx, "persist", "fast", "ok", 3*time.Millisecond)
	m.EventDeadLettered(ctx, "stripe", "parse", "rejected")
	return m.ObserveDeadLetters(func(context.Context) (map[string]int64, error) {
		return map[string]int64{"stripe": 2}, nil
	})
}

func TestPrometheusScrapesEveryMetricThatIsDocumented(t *testing.T) {
	t.Parallel()
	tel := start(t, telemetry.Options{})
	require.NoError(t, record(t.Context(), tel.Metrics))
	page, err := os.ReadFile("../../docs/telemetry.md")
	require.NoError(t, err)

	scraped := scrape(t, tel)
	names := regexp.MustCompile("`(holdfast_[a-z_]+)`").FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, names)
	for _, name := range names {
		require.Regexp(t, `(?m)^`+name[1]+`(_count)?\{`, scraped)
	}
	require.Contains(t, scraped, `holdfast_events_received_total{provider="stripe",status="accepted"} 1`)
	require.Contains(t, scraped, `holdfast_requests_inflight{provider="stripe"} 0`)
	require.Contains(t, scraped, `holdfast_dead_letters_open{provider="stripe"} 2`)
	require.Contains(t, scraped, "go_goroutines ")
}

func TestLatenciesHaveBucketsForMilliseconds(t *testing.T) {
	t.Parallel()
	tel := start(t, telemetry.Options{})
	tel.Metrics.StepFinished(t.Context(), "persist", "fast", "ok", 3*time.Millisecond)
	scraped := scrape(t, tel)
	require.Regexp(t, `holdfast_step_duration_seconds_bucket\{.*le="0.0025"\} 0`, scraped)
	require.Regexp(t, `holdfast_step_duration_seconds_bucket\{.*le="0.005"\} 1`, scraped)
}

func TestInventedValuesCannotMakeSeriesWithoutEnd(t *testing.T) {
	t.Parallel()
	tel := start(t, telemetry.Options{})
	for i := range 3000 {
		tel.Metrics.EventReceived(t.Context(), fmt.Sprint("provider-", i), "accepted")
	}
	scraped := scrape(t, tel)
	require.Contains(t, scraped, `otel_metric_overflow="true"`)
	require.LessOrEqual(t, strings.Count(scraped, "holdfast_events_received_total{"), 1000)
}

func TestAGaugeThatCannotBeReadHidesNoOtherMetric(t *testing.T) {
	t.Parallel()
	tel := start(t, telemetry.Options{})
	require.NoError(t, tel.Metrics.ObserveDeadLetters(func(context.Context) (map[string]int64, error) {
		return nil, errors.New("database is gone")
	}))
	tel.Metrics.EventReceived(t.Context(), "stripe", "accepted")
	scraped := scrape(t, tel)
	require.Contains(t, scraped, "holdfast_events_received_total{")
	require.NotContains(t, scraped, "holdfast_dead_letters_open{")
}
