package operatorapi_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/operator"
	"holdfast/operator/api"
	"holdfast/operator/console"
	"holdfast/persistence"
)

// While the database is down, each page says so, and whether events are still accepted, which depends on Temporal.
func TestPagesSayThatTheDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	store, err := persistence.Open(t.Context(), persistence.Config{URL: "postgres://nobody@127.0.0.1:1/none", MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	accepting := "Database unavailable. Events are still being accepted."
	for _, way := range []struct {
		temporal error
		says     string
	}{{nil, accepting}, {errors.New("down"), "Database and Temporal unavailable. Events are answered with 503"}} {
		shown := &api.API{Events: store.EventView(), DeadLetters: store.DeadLetters}
		log := slog.New(slog.DiscardHandler)
		server := operator.New(operator.Options{
			API: shown, Log: log, Site: console.New(console.Options{API: shown, Log: log}).Site(),
			Checks: []operator.Check{
				{Name: "database", Probe: store.Ping},
				{Name: "temporal", Probe: func(context.Context) error { return way.temporal }},
			},
		})
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			require.NoError(t, server.Shutdown(ctx))
		})
		for _, path := range []string{"/console/events", "/console/dead-letters", "/console/events/01a2120a-3e32-7dfe-8bbc-a4d8f2ee658a"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+path, nil)
			require.NoError(t, err)
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			page := string(body)
			require.Equal(t, 503, res.StatusCode, path)
			require.NotEmpty(t, res.Header.Get("Retry-After"))
			require.Contains(t, page, way.says, path)
			require.Contains(t, page, `aria-label="Sections"`, "one can go on")
		}
	}
}
