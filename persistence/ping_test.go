package persistence_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/persistence"
)

// Ping succeeds although every connection of the pool is in use, also if the role may open no more of them.
func TestPingWithoutAFreeConnection(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.exec("CREATE ROLE crowded LOGIN PASSWORD 'crowded' CONNECTION LIMIT 2")
	crowded, err := url.Parse(d.url)
	require.NoError(t, err)
	crowded.User = url.UserPassword("crowded", "crowded")
	for name, address := range map[string]string{"pool": d.url, "role": crowded.String()} {
		store, err := persistence.Open(t.Context(), persistence.Config{URL: address, MaxConns: 2})
		require.NoError(t, err)
		t.Cleanup(store.Close)
		for range 2 {
			conn, err := store.Pool().Acquire(t.Context())
			require.NoError(t, err)
			t.Cleanup(conn.Release)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.NoError(t, store.Ping(ctx), name)
	}
}
