package operator

import (
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
)

const requestIDHeader = "X-Request-Id"

// identify gives each request an id of ours; what a caller sends as one could be anything.
func identify(c *fiber.Ctx) error {
	requestID(c)
	return c.Next()
}

// requestID is the id of the request, made where there is none yet: a request that could not be read has passed no
// middleware.
func requestID(c *fiber.Ctx) string {
	if id := c.GetRespHeader(requestIDHeader); id != "" {
		return id
	}
	id := uuid.NewString()
	c.Set(requestIDHeader, id)
	return id
}

func secure(c *fiber.Ctx) error {
	setHeaders(c)
	return c.Next()
}

// setHeaders keeps browsers from running, framing, guessing or keeping what is answered.
func setHeaders(c *fiber.Ctx) {
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set("Cross-Origin-Resource-Policy", "same-origin")
}
