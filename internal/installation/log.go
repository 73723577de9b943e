package installation

import (
	"io"
	"log/slog"

	"holdfast/internal/config"
	"holdfast/internal/telemetry"
)

// SetLogger configures logging for all packages.
func SetLogger(cfg config.Log, out io.Writer) {
	options := &slog.HandlerOptions{Level: cfg.Level}
	var handler slog.Handler = slog.NewJSONHandler(out, options)
	if cfg.Format == config.LogText {
		handler = slog.NewTextHandler(out, options)
	}
	slog.SetDefault(slog.New(telemetry.LogHandler(handler)))
}
