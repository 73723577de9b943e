package ingress

import "github.com/gofiber/fiber/v2"

// setSecurityHeaders keeps a browser that is led to this port from running, framing, guessing or keeping what is answered. What
// TLS adds (Strict-Transport-Security) is the proxy's that has it.
func setSecurityHeaders(c *fiber.Ctx) {
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	c.Set(fiber.HeaderCacheControl, "no-store")
}
