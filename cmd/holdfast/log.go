package main

import (
	"log/slog"
	"os"

	"holdfast/internal/config"
	"holdfast/internal/telemetry"
)

// setLogger makes all packages log to standard error as configured.
func setLogger(cfg config.Log) {
	options := &slog.HandlerOptions{Level: cfg.Level}
	var handler slog.Handler = slog.NewJSONHandler(os.Stderr, options)
	if cfg.Format == config.LogText {
		handler = slog.NewTextHandler(os.Stderr, options)
	}
	slog.SetDefault(slog.New(telemetry.LogHandler(handler)))
}
