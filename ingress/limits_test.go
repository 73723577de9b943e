package ingress

import (
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/providers"
)

// limited is a provider with a rate of its own.
func limited(t *testing.T, rates string) *providers.Provider {
	t.Helper()
	dir := t.TempDir()
	definition := "name: limited\nextends: standard-webhooks\n" + rates
	require.NoError(t, os.WriteFile(filepath.Join(dir, "limited.yaml"), []byte(definition), 0o644))
	catalogue, err := providers.Load(dir)
	require.NoError(t, err)
	p, ok := catalogue.Lookup("limited")
	require.True(t, ok)
	return p
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Thirty a minute for each client:
//   - a burst of thirty passes, the next one is told to come back when there is room again
//   - another client has a bucket of its own
//   - time brings room back
func TestClientsHaveBucketsOfTheirOwn(t *testing.T) {
	t.Parallel()
	l, err := newLimits()
	require.NoError(t, err)
	p := limited(t, "client_rate: {requests: 30, per: 60s}")
	first, second := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for range 30 {
		require.Zero(t, l.takeClient(p, first, noon))
	}
	require.Equal(t, 2*time.Second, l.takeClient(p, first, noon))
	require.Equal(t, 2*time.Second, l.takeClient(p, netip.MustParseAddr("::ffff:192.0.2.1"), noon), "the same client by IPv6")
	require.Zero(t, l.takeClient(p, second, noon))
	require.Zero(t, l.takeClient(p, first, noon.Add(2*time.Second)))
	require.NotZero(t, l.takeClient(p, first, noon.Add(2*time.Second)))
}

// A rate of the provider holds for all clients together; a definition that is loaded again does not refill it.
func TestAProviderHasOneBucket(t *testing.T) {
	t.Parallel()
	l, err := newLimits()
	require.NoError(t, err)
	const rates = "rate: {requests: 2, per: 1s}"
	require.Zero(t, l.takeProvider(limited(t, rates), noon))
	require.Zero(t, l.takeProvider(limited(t, rates), noon))
	require.NotZero(t, l.takeProvider(limited(t, rates), noon))
	require.Zero(t, l.takeProvider(limited(t, "rate: {requests: 3, per: 1s}"), noon))
}

// A million addresses take no more memory than the limit says.
func TestClientsAreForgotten(t *testing.T) {
	t.Parallel()
	l, err := newLimits()
	require.NoError(t, err)
	p := limited(t, "client_rate: {requests: 1, per: 1s}")
	for i := range uint32(1_000_000) {
		var address [4]byte
		binary.BigEndian.PutUint32(address[:], i)
		l.takeClient(p, netip.AddrFrom4(address), noon)
	}
	require.Equal(t, maxClients, l.clients.Len())
}
