package httpapi

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"
)

// Every text is one segment of a path, also where browsers shorten the path, and is read as it was.
func TestASegmentIsReadAsItWas(t *testing.T) {
	t.Parallel()
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	var read string
	app.Get("/entities/:id/timeline", func(c *fiber.Ctx) (err error) {
		read, err = PathText(c, "id")
		return err
	})
	for _, text := range []string{
		".", "..", "...", "-1001557", "a.b", "%2E", "%2e%2E", "%252E", ".%2E", "%", "a/b", "ü", "..a", "%2", "%25", "a b?c#d", "%2F",
	} {
		page, err := url.Parse("https://holdfast.example.com/console/")
		require.NoError(t, err)
		resolved, err := page.Parse("/entities/" + PathSegment(text) + "/timeline") // shortens as a browser does
		require.NoError(t, err)
		response, err := app.Test(httptest.NewRequest(http.MethodGet, resolved.RequestURI(), http.NoBody))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode, text)
		require.Equal(t, text, read)
	}
}
