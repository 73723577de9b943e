package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// No destination takes its secrets from variables that configure Holdfast or the libraries it connects with.
func TestReservedVariables(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"DATABASE_URL", "DATABASE_URL_FILE", "HOLDFAST_PAYLOAD_KEYS", "HOLDFAST_OF_A_LATER_RELEASE", "TEMPORAL_API_KEY",
		"OTEL_EXPORTER_OTLP_HEADERS", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY",
	} {
		require.True(t, IsReserved(name), name)
	}
	for _, name := range []string{"CRM_SECRET", "HOLDFAST_SECRET_CRM", "PGP_KEY", "STRIPE_WEBHOOK_SECRET"} {
		require.False(t, IsReserved(name), name)
	}
}
