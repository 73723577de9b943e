package cli_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/cli"
	"holdfast/operator"
	"holdfast/operator/access"
)

// A server refuses a body by its length, before it has read it. The command shows the server's error, not that the connection
// was closed while it sent the body.
func TestARefusedBodyShowsTheServersError(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := operator.New(operator.Options{Tokens: access.Tokens{{Name: "ada", Role: access.RoleViewer}}})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { require.NoError(t, server.Shutdown(context.WithoutCancel(t.Context()))) })
	api := &cli.API{URL: "http://" + listener.Addr().String(), Token: "hf_of_a_viewer", Client: cli.NewHTTPClient()}
	edit := map[string]string{"body": strings.Repeat("x", 20<<20)}
	for range 3 {
		err := api.Change(t.Context(), http.MethodPost, "/dead-letters/7/edit", edit, nil)
		var refused *cli.RefusalError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, http.StatusRequestEntityTooLarge, refused.Status)
		require.ErrorContains(t, err, "too_large")
	}
}
