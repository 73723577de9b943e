package telemetry

import (
	"context"
	"io"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// usualAttrs is the maximum number of a line's attributes, with few exceptions.
const usualAttrs = 16

// LogHandler writes to next. It adds the trace_id and span_id of the context to every line and masks secrets.
func LogHandler(next slog.Handler) slog.Handler { return logHandler{next: next} }

// SetLogger writes the lines of all packages to out, as text or JSON.
func SetLogger(level slog.Level, isText bool, out io.Writer) {
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewJSONHandler(out, options)
	if isText {
		handler = slog.NewTextHandler(out, options)
	}
	slog.SetDefault(slog.New(LogHandler(handler)))
}

// logHandler redacts a line and adds its trace. A logger's attributes are redacted with each line instead of up front: Temporal
// creates a logger for every run and every step, and almost none of them writes.
type logHandler struct {
	next    slog.Handler
	carried []slog.Attr
}

func (h logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h logHandler) Handle(ctx context.Context, line slog.Record) error {
	attrs := make([]slog.Attr, 0, usualAttrs)
	for _, a := range h.carried {
		attrs = append(attrs, redact(a))
	}
	line.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, redact(a))
		return true
	})
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		attrs = append(attrs, slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	clean := slog.NewRecord(line.Time, line.Level, redactText(line.Message), line.PC)
	clean.AddAttrs(attrs...) // all together: adding them one by one would copy them repeatedly
	return h.next.Handle(ctx, clean)
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.next, slices.Concat(h.carried, attrs)}
}

func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{next: h.next.WithAttrs(redactAll(h.carried)).WithGroup(name)}
}

func redactAll(attrs []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = redact(a)
	}
	return clean
}
