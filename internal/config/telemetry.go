package config

// ExportTraces says whether an exporter of traces is configured.
func (t Telemetry) ExportTraces() bool { return t.exports(t.TracesExporter, t.TracesEndpoint) }

// ExportMetrics says whether an exporter of metrics is configured beside Prometheus, which needs none.
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
