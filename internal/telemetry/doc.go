// Package telemetry starts a process's traces, metrics and logs, in the formats of OpenTelemetry, Prometheus and slog, and
// connects Temporal and PostgreSQL to them.
//
// It must not depend on the domain: callers pass names, numbers and durations. Nothing here may block the observed work:
// exporters have bounded queues and drop what a back end doesn't accept. No secret or payload gets through: log values are
// redacted, and spans don't contain SQL parameters or the texts of database errors.
package telemetry
