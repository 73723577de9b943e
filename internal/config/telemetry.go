package config

// ExportTraces reports whether a trace exporter is configured.
func (t Telemetry) ExportTraces() bool { return t.exports(t.TracesExporter, t.TracesEndpoint) }

// ExportMetrics reports whether a metrics exporter is configured in addition to Prometheus, which needs none.
func (t Telemetry) ExportMetrics() bool { return t.exports(t.MetricsExporter, t.MetricsEndpoint) }

func (t Telemetry) exports(exporter, endpoint string) bool {
	switch {
	case t.Disabled, exporter == "none", exporter == "prometheus":
		return false
	case exporter != "":
		return true
	default:
		return t.Endpoint != "" || endpoint != ""
	}
}
