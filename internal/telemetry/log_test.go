package telemetry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace"

	"holdfast/internal/telemetry"
)

const canary = "CANARY5f1d9c"

func logger() (*slog.Logger, *bytes.Buffer) {
	var out bytes.Buffer
	return slog.New(telemetry.LogHandler(slog.NewJSONHandler(&out, nil))), &out
}

func line(t *testing.T, out *bytes.Buffer) map[string]any {
	t.Helper()
	var fields map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &fields), out.String())
	return fields
}

func TestALineCarriesTheIDsOfItsTrace(t *testing.T) {
	t.Parallel()
	log, out := logger()
	ctx, span := trace.NewTracerProvider().Tracer("test").Start(t.Context(), "request")
	log.InfoContext(ctx, "event.received", "provider", "stripe")
	fields := line(t, out)
	require.Equal(t, span.SpanContext().TraceID().String(), fields["trace_id"])
	require.Equal(t, span.SpanContext().SpanID().String(), fields["span_id"])
	require.Equal(t, "stripe", fields["provider"])
}

func TestNoLineShowsASecret(t *testing.T) {
	t.Parallel()
	type request struct {
		Path    string
		Headers map[string]string
		Auth    struct{ APIKey string }
	}
	req := request{Path: "/webhooks/stripe", Headers: map[string]string{"x-custom": canary}}
	req.Auth.APIKey = canary
	for name, attr := range map[string]slog.Attr{
		"by key":                     slog.String("Authorization", canary),
		"by part of a key":           slog.String("stripe_signature_v1", canary),
		"a list under such a key":    slog.Any("secrets", []string{canary}),
		"in a group":                 slog.Group("request", slog.String("cookie", canary)),
		"in a struct":                slog.Any("request", req),
		"in a map":                   slog.Any("env", map[string]any{"x": []any{map[string]any{"Password": canary}}}),
		"a body":                     slog.Any("body", []byte(canary)),
		"raw JSON":                   slog.Any("input", json.RawMessage(`"`+canary+`"`)),
		"a body as text":             slog.String("payload", canary),
		"a signing secret":           slog.String("note", "used whsec_"+canary+" today"),
		"a bearer token":             slog.String("note", "sent Bearer "+canary),
		"a URL with a password":      slog.String("note", "dial postgres://u:"+canary+"@db/x failed"),
		"a DSN":                      slog.String("note", "host=db password="+canary+" user=u"),
		"a query":                    slog.String("note", "GET /x?token="+canary+"&a=b"),
		"in an error":                slog.Any("error", fmt.Errorf("dial: %w", errors.New("postgres://u:"+canary+"@db"))),
		"in something that resolves": slog.Any("x", resolves{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, out := logger()
			log.Info("direct", attr)
			log.With(attr).Info("carried")
			log.WithGroup("group").Info("grouped", attr)
			require.Contains(t, out.String(), "grouped", "the lines were written")
			require.NotContains(t, out.String(), canary)
		})
	}
	log, out := logger()
	log.Info("connect to postgres://u:" + canary + "@db/x")
	require.NotContains(t, out.String(), canary, "in the message")
}

type resolves struct{}

func (resolves) LogValue() slog.Value { return slog.GroupValue(slog.String("password", canary)) }

// Redaction must keep what operators need.
func TestSettingsThatAreNotSecretsStayVisible(t *testing.T) {
	t.Parallel()
	log, out := logger()
	log.Info("event.received",
		"event_id", "0199e4c3-7d3f-7000-8000-000000000001",
		"workflow_id", "stripe:evt_1",
		"idempotency_key", "evt_1",
		"token_count", 3,
		"took", 1500*time.Millisecond,
		"url", "postgres://holdfast@127.0.0.1:5432/holdfast",
		"error", errors.New("call: connection refused"),
		"queues", []string{"events", "events-high"},
		"at", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	fields := line(t, out)
	require.Equal(t, "stripe:evt_1", fields["workflow_id"])
	require.Equal(t, "evt_1", fields["idempotency_key"])
	require.InEpsilon(t, 3, fields["token_count"], 0)
	require.Equal(t, "postgres://holdfast@127.0.0.1:5432/holdfast", fields["url"])
	require.Equal(t, "call: connection refused", fields["error"])
	require.Equal(t, []any{"events", "events-high"}, fields["queues"])
	require.Equal(t, "2026-01-02T03:04:05Z", fields["at"])
}

func TestLinesBelowTheLevelAreNotWritten(t *testing.T) {
	t.Parallel()
	log, out := logger()
	log.Debug("noise")
	require.Empty(t, out.String())
}

func TestTemporalLogsThroughOurLogger(t *testing.T) {
	t.Parallel()
	log, out := logger()
	telemetry.TemporalLogger(log).Warn("worker stopped", "TaskQueue", "events", "apiKey", canary)
	fields := line(t, out)
	require.Equal(t, "temporal", fields["component"])
	require.Equal(t, "events", fields["TaskQueue"])
	require.NotContains(t, out.String(), canary)
}
