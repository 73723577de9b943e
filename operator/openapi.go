package operator

import (
	_ "embed"

	"github.com/gofiber/fiber/v2"
)

// openapi.json is written by hand. Tests compare it with the routes, the schema of OpenAPI 3.1 and real responses.
//
//go:embed openapi.json
var openAPIDocument []byte

func openAPI(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(openAPIDocument)
}
