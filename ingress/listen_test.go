package ingress

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server that is about to stop keeps no connection open, so that a sender's next request goes to another one. Senders that
// don't notice a closed connection would lose that request.
func TestAServerThatDrainsKeepsNoConnection(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	closes := func() bool {
		url := "http://" + listener.Addr().String() + "/webhooks/none"
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, http.NoBody)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusNotFound, response.StatusCode)
		return response.Close
	}
	require.False(t, closes())
	s.Drain()
	require.True(t, closes())
	require.NoError(t, s.Shutdown(context.Background()))
	require.NoError(t, <-served)
}
