package telemetry_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/telemetry"
)

func TestTracesAndMetricsReachAnOTLPEndpoint(t *testing.T) {
	var mu sync.Mutex
	paths := map[string]int{}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paths[r.URL.Path]++
	}))
	defer backend.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", backend.URL)

	tel := start(t, telemetry.Options{ExportTraces: true, ExportMetrics: true})
	_, span := tel.Traces.Tracer("test").Start(t.Context(), "request")
	span.End()
	counter(t, tel).Add(t.Context(), 1)
	require.NoError(t, tel.Shutdown(t.Context()))

	mu.Lock()
	defer mu.Unlock()
	require.Positive(t, paths["/v1/traces"])
	require.Positive(t, paths["/v1/metrics"])
}

// At the end of a process the stores are closed before the last metrics are sent, which must not look like a failure.
func TestTheLastExportAsksNoStore(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer backend.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", backend.URL)

	tel := start(t, telemetry.Options{ExportMetrics: true})
	require.NoError(t, tel.ObserveDeadLetters(func(context.Context) (map[string]int64, error) {
		return nil, errors.New("the store is closed")
	}))
	require.NoError(t, tel.ObserveInbox(func(context.Context) (map[string]int64, map[string]time.Duration, error) {
		return nil, nil, errors.New("the store is closed")
	}))
	require.NoError(t, tel.Shutdown(t.Context()))
}

// A back end that accepts connections but never answers is the worst one: nothing fails, and everything waits.
func TestABackEndThatNeverAnswersHoldsNothingUp(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, silent.Close()) }()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+silent.Addr().String())

	tel := start(t, telemetry.Options{ExportTraces: true, ExportMetrics: true})
	received := counter(t, tel)
	began := time.Now()
	for range 20_000 { // ten times the queue's capacity
		_, span := tel.Traces.Tracer("test").Start(t.Context(), "request")
		span.End()
		received.Add(t.Context(), 1)
	}
	require.Less(t, time.Since(began), 5*time.Second)
	require.Contains(t, scrape(t, tel), "holdfast_events_received_total 20000", "Prometheus is served all the same")

	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began = time.Now()
	require.ErrorIs(t, tel.Shutdown(ctx), context.DeadlineExceeded)
	require.Less(t, time.Since(began), 3*time.Second)
}

func TestWithoutAnExporterSpansHaveIDsAndRecordNothing(t *testing.T) {
	t.Parallel()
	tel := start(t, telemetry.Options{})
	_, span := tel.Traces.Tracer("test").Start(t.Context(), "request")
	defer span.End()
	require.True(t, span.SpanContext().IsValid())
	require.False(t, span.IsRecording())
}

func TestForeignBaggageIsIgnored(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"traceparent", "tracestate"}, telemetry.Propagator().Fields())
}
