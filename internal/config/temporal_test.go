package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/config"
)

func TestTemporalsOwnVariablesAreHonoured(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom([]string{
		"TEMPORAL_ADDRESS=temporal.internal:7233", "TEMPORAL_NAMESPACE=hooks", "TEMPORAL_API_KEY=key",
		"TEMPORAL_TLS_SERVER_NAME=temporal.example",
	})
	require.NoError(t, err)
	options, err := cfg.TemporalOptions()
	require.NoError(t, err)
	require.Equal(t, "temporal.internal:7233", options.HostPort)
	require.Equal(t, "hooks", options.Namespace)
	require.NotNil(t, options.Credentials)
	require.Equal(t, "temporal.example", options.ConnectionOptions.TLS.ServerName)
}

func TestWithoutVariablesTheLocalServerIsUsed(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom(nil)
	require.NoError(t, err)
	require.Empty(t, cfg.Temporal.Address, "so that dev can tell that none was given")
	options, err := cfg.TemporalOptions()
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:7233", options.HostPort)
	require.Equal(t, "default", options.Namespace)
}

func TestAProfileIsReadOnlyWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	profile := file(t, "[profile.default]\naddress = \"cluster:7233\"\nnamespace = \"hooks\"\n")
	cfg, err := config.LoadFrom([]string{"TEMPORAL_CONFIG_FILE=" + profile})
	require.NoError(t, err)
	require.Equal(t, config.Temporal{Address: "cluster:7233", Namespace: "hooks"}, cfg.Temporal)

	_, err = config.LoadFrom([]string{"TEMPORAL_CONFIG_FILE=" + file(t, "not toml"), "HOLDFAST_WORKER_GRACE=0s"})
	require.ErrorContains(t, err, "TEMPORAL_")
	require.ErrorContains(t, err, "HOLDFAST_WORKER_GRACE", "beside the other mistakes")
}
