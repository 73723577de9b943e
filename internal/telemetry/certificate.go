package telemetry

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// ObserveCertificate exports how long a certificate of this process is still valid, labeled by the server that it is for.
func (t *Telemetry) ObserveCertificate(shownTo string, end time.Time) error {
	_, err := t.Meters.Meter("holdfast/telemetry").Float64ObservableGauge("holdfast_certificate_remaining_seconds",
		metric.WithUnit("s"),
		metric.WithDescription("How long the client certificate of this process is still valid, by what it is shown to."),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			o.Observe(time.Until(end).Seconds(), by("certificate", shownTo))
			return nil
		}))
	if err != nil {
		return fmt.Errorf("observe the certificate for %s: %w", shownTo, err)
	}
	return nil
}
