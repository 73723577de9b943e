package httpapi

import (
	"net/http/httptest"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"
)

// All steps of a request share one time limit.
func TestARequestHasOneBudget(t *testing.T) {
	t.Parallel()
	app := fiber.New()
	app.Get("/", func(c *fiber.Ctx) error {
		first, cancel := RequestContext(c)
		defer cancel()
		second, cancelSecond := RequestContext(c)
		defer cancelSecond()
		one, _ := first.Deadline()
		two, _ := second.Deadline()
		if !one.Equal(two) {
			return fiber.ErrTeapot
		}
		return c.SendStatus(fiber.StatusNoContent)
	})
	for range 2 {
		response, err := app.Test(httptest.NewRequest(fiber.MethodGet, "/", nil))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, fiber.StatusNoContent, response.StatusCode)
	}
}
