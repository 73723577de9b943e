package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"
)

// serveSlowly returns the URL of a server whose responses begin at once if work takes any time.
func serveSlowly(t *testing.T, work func(context.Context) (map[string]int, error)) string {
	t.Helper()
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/", func(c *fiber.Ctx) error { return respondSlowly(c, time.Nanosecond, time.Millisecond, work) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = app.Listener(listener) }()
	t.Cleanup(func() {
		require.NoError(t, app.Shutdown())
		_ = listener.Close() // fasthttp leaves it open if it hadn't begun
	})
	return "http://" + listener.Addr().String()
}

func getSlowly(ctx context.Context, t *testing.T, url string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// A slow response begins while the work goes on, and its body is the result after line breaks, or the error.
func TestASlowResponse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"done":   {nil, `{"n":7}`},
		"failed": {Refuse(CodeRefused), `"code":"refused"`},
		"broken": {errors.New("a secret"), `"code":"internal"`},
	} {
		proceed := make(chan struct{})
		url := serveSlowly(t, func(context.Context) (map[string]int, error) {
			<-proceed
			return map[string]int{"n": 7}, c.err
		})
		response := getSlowly(t.Context(), t, url)
		require.Equal(t, 200, response.StatusCode)
		var first [2]byte
		_, err := io.ReadFull(response.Body, first[:])
		require.NoError(t, err)
		require.Equal(t, "\n\n", string(first[:]), name)
		close(proceed)
		rest, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.True(t, json.Valid(rest), "%s: %s", name, rest)
		require.Contains(t, string(rest), c.says, name)
		require.NotContains(t, string(rest), "a secret")
	}
}

// Work that panics is an internal error, and the server goes on.
func TestASlowPanic(t *testing.T) {
	t.Parallel()
	proceed := make(chan struct{})
	url := serveSlowly(t, func(context.Context) (map[string]int, error) {
		<-proceed
		panic("a mistake")
	})
	response := getSlowly(t.Context(), t, url)
	close(proceed)
	rest, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Contains(t, string(rest), `"code":"internal"`)
	require.NotContains(t, string(rest), "a mistake")
}

// The work ends when the client disconnects.
func TestAnUnreadSlowResponse(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	url := serveSlowly(t, func(ctx context.Context) (map[string]int, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	response := getSlowly(ctx, t, url)
	cancel()
	_ = response.Body.Close()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// Fast work is an ordinary response.
func TestWorkThatIsFast(t *testing.T) {
	t.Parallel()
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/", func(c *fiber.Ctx) error {
		return RespondSlowly(c, func(context.Context) (map[string]int, error) { return map[string]int{"n": 7}, nil })
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", strings.NewReader(""))
	require.NoError(t, err)
	response, err := app.Test(request)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.JSONEq(t, `{"n":7}`, string(body))
}
