package config_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

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

// Temporal's worker controller sets both. Only one of them would leave workers unversioned, so it is an error.
func TestADeploymentHasANameAndABuild(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom([]string{"TEMPORAL_DEPLOYMENT_NAME=holdfast", "TEMPORAL_WORKER_BUILD_ID=v2"})
	require.NoError(t, err)
	require.True(t, cfg.Temporal.Versioned())
	for _, one := range []string{"TEMPORAL_DEPLOYMENT_NAME=holdfast", "TEMPORAL_WORKER_BUILD_ID=v2"} {
		_, err := config.LoadFrom([]string{one})
		require.ErrorContains(t, err, "is missing", one)
	}
	cfg, err = config.LoadFrom(nil)
	require.NoError(t, err)
	require.False(t, cfg.Temporal.Versioned())
}

func TestAProfileIsReadOnlyWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	profile := file(t, "[profile.default]\naddress = \"cluster:7233\"\nnamespace = \"hooks\"\n")
	cfg, err := config.LoadFrom([]string{"TEMPORAL_CONFIG_FILE=" + profile})
	require.NoError(t, err)
	require.Equal(t, config.Temporal{Address: "cluster:7233", Namespace: "hooks"}, cfg.Temporal)

	_, err = config.LoadFrom([]string{"TEMPORAL_CONFIG_FILE=" + file(t, "not toml"), "HOLDFAST_WORKER_GRACE=0s"})
	require.ErrorContains(t, err, "TEMPORAL_")
	require.ErrorContains(t, err, "HOLDFAST_WORKER_GRACE", "beside the other problems")
}

// The profile file is also used for destinations in other Temporals, so it need not have an address for Holdfast's own.
func TestAFileOfProfilesIsForDestinationsToo(t *testing.T) {
	t.Parallel()
	profiles := file(t, "[profile.orders]\naddress = \"orders:7233\"\n")
	cfg, err := config.LoadFrom([]string{"TEMPORAL_CONFIG_FILE=" + profiles, "TEMPORAL_ADDRESS=own:7233"})
	require.NoError(t, err)
	require.Equal(t, profiles, cfg.TemporalConfigFile())
	require.Equal(t, "own:7233", cfg.Temporal.Address)
}

// An expired certificate disconnects every process from Temporal.
func TestTheEndOfTheClientCertificateIsKnown(t *testing.T) {
	t.Parallel()
	end := time.Now().Add(30 * 24 * time.Hour).UTC().Truncate(time.Second)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: end}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	text := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}

	cfg, err := config.LoadFrom([]string{
		"TEMPORAL_TLS_CLIENT_CERT_DATA=" + text("CERTIFICATE", certificate),
		"TEMPORAL_TLS_CLIENT_KEY_DATA=" + text("PRIVATE KEY", private),
	})
	require.NoError(t, err)
	got, err := cfg.TemporalCertificateEnd()
	require.NoError(t, err)
	require.Equal(t, end, got)

	cfg, err = config.LoadFrom(nil)
	require.NoError(t, err)
	got, err = cfg.TemporalCertificateEnd()
	require.NoError(t, err)
	require.Zero(t, got)
}
