package ingress

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"holdfast/event"
	"holdfast/ingress/intake"
	"holdfast/internal/telemetry"
	"holdfast/providers"
	"holdfast/workflows/runs"
)

// instantInbox commits immediately.
type instantInbox struct{}

func (instantInbox) Spool(context.Context, event.Lane, event.Receipt, []byte, bool) (bool, error) {
	return true, nil
}

func (instantInbox) SpoolLate(context.Context, event.Receipt, []byte, bool, time.Duration) (bool, error) {
	return true, nil
}

func (instantInbox) KeepLarge(context.Context, event.Receipt, []byte, bool, time.Duration) (bool, error) {
	return true, nil
}

func (instantInbox) Copy(context.Context, event.Receipt, []byte, time.Duration) error { return nil }

// instantStarter starts immediately, or is down.
type instantStarter struct{ down bool }

func (i instantStarter) Start(_ context.Context, r event.Receipt, _ []byte, _ bool) (runs.Started, error) {
	if i.down {
		return runs.Started{}, errors.New("away")
	}
	return runs.Started{WorkflowID: r.WorkflowID(), EventID: r.ID, State: runs.StateAccepted}, nil
}

// BenchmarkReceive measures a request between the connection and the stores, with the logs, metrics and traces of a process
// that exports all of them.
func BenchmarkReceive(b *testing.B) {
	told, err := telemetry.Start(b.Context(), telemetry.Options{Service: "benchmark"})
	require.NoError(b, err)
	b.Cleanup(func() { _ = told.Shutdown(context.Background()) })
	otel.SetTracerProvider(trace.NewTracerProvider(trace.WithBatcher(tracetest.NewNoopExporter())))
	before := slog.Default()
	slog.SetDefault(slog.New(telemetry.LogHandler(slog.NewJSONHandler(telemetry.NewLines(io.Discard), nil))))
	b.Cleanup(func() { slog.SetDefault(before) })

	for name, down := range map[string]bool{"into the inbox": true, "into Temporal": false} {
		b.Run(name, func(b *testing.B) { benchmarkReceive(b, down, secret, fasthttp.StatusAccepted) })
	}
	b.Run("forged", func(b *testing.B) { benchmarkReceive(b, true, "another secret", fasthttp.StatusUnauthorized) })
}

func benchmarkReceive(b *testing.B, down bool, signedWith string, status int) {
	dir := b.TempDir()
	require.NoError(b, os.WriteFile(filepath.Join(dir, "stripe.yaml"), []byte("name: stripe\nextends: stripe\nrate: null\n"), 0o600))
	catalogue, err := providers.Load(dir)
	require.NoError(b, err)
	catalogue = catalogue.WithSecrets(func(string) []string { return []string{secret} })
	server, err := New(Options{
		Catalogue: catalogue, Intake: newIntake(b, intake.Options{
			Starter: instantStarter{down}, Inbox: instantInbox{}, Breaker: intake.NewBreaker(100),
			CommitTimeout: 3 * time.Second, StartTimeout: 2 * time.Second, AckBudget: time.Second,
		}),
		BodyLimit: 256 << 10, MaxConns: 1000,
	})
	require.NoError(b, err)
	server.app.Handler() // builds the routes, as listening would
	handle := server.app.Server().Handler
	provider, ok := catalogue.Lookup("stripe")
	require.True(b, ok)
	raw := signedRequest(b, provider, signedWith)
	var c fasthttp.RequestCtx
	c.Init(&fasthttp.Request{}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40000}, nil)
	wire, buffer := bytes.NewReader(raw), bufio.NewReader(nil)
	b.ReportAllocs()
	for b.Loop() {
		wire.Reset(raw)
		buffer.Reset(wire)
		require.NoError(b, c.Request.Read(buffer))
		c.Response.Reset()
		c.ResetUserValues()
		handle(&c)
		if c.Response.StatusCode() != status {
			b.Fatal(c.Response.StatusCode(), string(c.Response.Body()))
		}
	}
}

// signedRequest returns the raw bytes of a signed event of about 600 bytes.
func signedRequest(b *testing.B, p *providers.Provider, signedWith string) []byte {
	b.Helper()
	r, err := p.SampleOf("customer.updated", "bench0001", "cus_1", time.Now())
	require.NoError(b, err)
	r.Body = append([]byte(`{"padding":"`+strings.Repeat("x", 150)+`",`), r.Body[1:]...)
	require.NoError(b, p.Sign(r, signedWith, time.Now()))
	var raw fasthttp.Request
	raw.Header.SetMethod(r.Method)
	raw.SetRequestURI(r.Path)
	raw.Header.SetHost("localhost")
	raw.Header.Set("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)")
	for name, values := range r.Header {
		raw.Header.Set(name, values[0])
	}
	raw.SetBody(r.Body)
	var wire bytes.Buffer
	_, err = raw.WriteTo(&wire)
	require.NoError(b, err)
	return wire.Bytes()
}
