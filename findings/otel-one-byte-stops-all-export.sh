#!/usr/bin/env bash
# OpenTelemetry for Go: one attribute that isn't UTF-8 ends the export of everything, of metrics until the process restarts.
#
# Versions: OpenTelemetry Go 1.47.0, its Prometheus exporter 0.69.0 with client_golang 1.24.1, OTLP over HTTP 1.47.0.
# Guess:    a Go string may have any bytes, and the API takes it without an error. On export the SDK replaces what isn't UTF-8, or
#           drops that attribute, or at worst that series or span.
# Seen:     Prometheus: from then on every scrape is a 500 that names the value; no metric can be read. OTLP metrics: every export
#           fails, and since counters are cumulative, all later ones do. OTLP traces: the whole batch of up to 512 spans is dropped.
#           The process only logs it, if it has set an error handler.
# Hurts:    services with an attribute that they didn't write themselves, such as a user agent in Latin-1: a single request, and no
#           dashboard has data any more. Pass such values through strings.ToValidUTF8, and alert on missing metrics.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
cat >go.mod <<'MOD'
module finding
go 1.26
require (
	github.com/prometheus/client_golang v1.24.1
	go.opentelemetry.io/otel v1.47.0
	go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp v1.47.0
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp v1.47.0
	go.opentelemetry.io/otel/exporters/prometheus v0.69.0
	go.opentelemetry.io/otel/metric v1.47.0
	go.opentelemetry.io/otel/sdk v1.47.0
	go.opentelemetry.io/otel/sdk/metric v1.47.0
	go.opentelemetry.io/otel/trace v1.47.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"

	registry "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	tracing "go.opentelemetry.io/otel/trace"
)

var (
	ctx   = context.Background()
	agent = attribute.String("user_agent", "Caf\xe9/1.0") // Latin-1, as headers may be
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func main() {
	prometheusPage()
	var received atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { received.Add(1) }))
	defer collector.Close()
	metrics(collector.URL)
	traces(collector.URL, &received)
}

func prometheusPage() {
	page := registry.NewRegistry()
	exporter, err := prometheus.New(prometheus.WithRegisterer(page))
	check(err)
	meter := sdk.NewMeterProvider(sdk.WithReader(exporter)).Meter("shop")
	orders, err := meter.Int64Counter("orders")
	check(err)
	requests, err := meter.Int64Counter("requests")
	check(err)
	status := func() int {
		w := httptest.NewRecorder()
		promhttp.HandlerFor(page, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return w.Code
	}
	orders.Add(ctx, 1)
	fmt.Println("Prometheus, before:", status())
	requests.Add(ctx, 1, metric.WithAttributes(agent))
	orders.Add(ctx, 1)
	fmt.Println("Prometheus, after one such request:", status(), status())
}

func metrics(collector string) {
	exporter, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(collector))
	check(err)
	provider := sdk.NewMeterProvider(sdk.WithReader(sdk.NewPeriodicReader(exporter)))
	orders, err := provider.Meter("shop").Int64Counter("orders")
	check(err)
	requests, err := provider.Meter("shop").Int64Counter("requests")
	check(err)
	orders.Add(ctx, 1)
	fmt.Println("OTLP metrics, before:", provider.ForceFlush(ctx))
	requests.Add(ctx, 1, metric.WithAttributes(agent))
	for range 2 {
		orders.Add(ctx, 1)
		fmt.Println("OTLP metrics, after:", provider.ForceFlush(ctx))
	}
}

func traces(collector string, received *atomic.Int64) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(collector))
	check(err)
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
	span := func(options ...tracing.SpanStartOption) {
		_, s := provider.Tracer("shop").Start(ctx, "order", options...)
		s.End()
	}
	before := received.Load()
	for range 100 {
		span()
	}
	span(tracing.WithAttributes(agent))
	err = provider.ForceFlush(ctx)
	fmt.Printf("OTLP traces, 100 good spans and one such: sent %v, %v\n", received.Load() > before, err)
}
GO
go mod tidy 2>/dev/null
go run . | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
Prometheus, before: 200
Prometheus, after one such request: 500 500
OTLP metrics, before: <nil>
OTLP metrics, after: failed to upload metrics: string field contains invalid UTF-8
OTLP metrics, after: failed to upload metrics: string field contains invalid UTF-8
OTLP traces, 100 good spans and one such: sent false, traces export: failed to marshal request body in protobuf: string field contains invalid UTF-8
SEEN
echo "as seen"
