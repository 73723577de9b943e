package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

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

// Exemplars, which name the trace of a measurement, are exported only if the operator asks for them.
func TestExemplarsAreOffByDefault(t *testing.T) {
	var mu sync.Mutex
	var exported []byte
	backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		exported = append(exported, body...)
	}))
	defer backend.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", backend.URL)
	for filter, want := range map[string]bool{"": false, "trace_based": true} {
		t.Setenv("OTEL_METRICS_EXEMPLAR_FILTER", filter)
		tel := start(t, telemetry.Options{ExportMetrics: true})
		id := trace.TraceID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
		counter(t, tel).Add(trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: id, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled,
		})), 1)
		require.NoError(t, tel.Shutdown(t.Context()))

		mu.Lock()
		require.NotEmpty(t, exported)
		require.Equal(t, want, bytes.Contains(exported, id[:]), filter)
		exported = nil
		mu.Unlock()
	}
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
