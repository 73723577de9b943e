package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/telemetry"
)

// setLogger makes all packages log as configured.
func setLogger(cfg config.Log, out io.Writer) {
	options := &slog.HandlerOptions{Level: cfg.Level}
	var handler slog.Handler = slog.NewJSONHandler(out, options)
	if cfg.Format == config.LogText {
		handler = slog.NewTextHandler(out, options)
	}
	slog.SetDefault(slog.New(telemetry.LogHandler(handler)))
}

// flushLog writes the last lines. A reader that stands still holds no stop up.
func flushLog(lines *telemetry.Lines) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_ = lines.Flush(ctx)
		return nil
	}
}
