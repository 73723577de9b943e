package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"
)

// All steps of a request share one context: it has a deadline, lasts until a streamed response is written, and ends then.
func TestARequestHasOneContext(t *testing.T) {
	t.Parallel()
	app, ended := fiber.New(), make(chan context.Context, 1)
	app.Get("/", func(c *fiber.Ctx) error {
		ctx := RequestContext(c)
		if _, has := ctx.Deadline(); !has || ctx != RequestContext(c) {
			return fiber.ErrTeapot
		}
		c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
			fmt.Fprint(w, ctx.Err())
			ended <- ctx
		})
		return nil
	})
	for range 2 {
		response, err := app.Test(httptest.NewRequest(fiber.MethodGet, "/", nil))
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, fiber.StatusOK, response.StatusCode)
		require.Equal(t, "<nil>", string(body))
		ctx := <-ended
		<-ctx.Done()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
	}
}
