package operator

import (
	"github.com/gofiber/fiber/v2"

	"holdfast/operator/httpapi"
)

// identify gives each request its own ID, because an ID from the client could be anything.
func identify(c *fiber.Ctx) error {
	httpapi.RequestID(c)
	return c.Next()
}

func secure(c *fiber.Ctx) error {
	setHeaders(c)
	return c.Next()
}

// setHeaders keeps browsers from running, framing, sniffing or caching responses.
func setHeaders(c *fiber.Ctx) {
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set("Cross-Origin-Resource-Policy", "same-origin")
}
