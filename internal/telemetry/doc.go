// Package telemetry starts what a process tells about itself: traces, metrics and logs, in the forms that OpenTelemetry,
// Prometheus and slog have for them, and the pieces that tie Temporal and PostgreSQL into them.
//
// It must never know the domain: whoever has something to tell hands over names, numbers and durations. Nothing here may
// hold up the work that it watches: exporters have bounded queues and drop what a back end does not take. No secret or
// payload passes: log values are redacted, spans carry neither SQL parameters nor the texts of database errors.
package telemetry
