package operator

import (
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/cors"
)

// payloadsPath is what the codec endpoint lies below.
const payloadsPath = "/codec/"

// preflightAge is how long a browser remembers the answer to a preflight, in seconds.
const preflightAge = 600

// admit lets the pages of Temporal Web, which has an origin of its own, read the answers of the codec endpoint. The headers are
// those that it sends. It sends no cookies, and is not asked for any.
func admit(origins []string) fiber.Handler {
	return cors.New(cors.Config{
		AllowOrigins: strings.Join(origins, ","),
		AllowMethods: fiber.MethodPost,
		AllowHeaders: "Content-Type, X-Namespace, Authorization, Authorization-Extras",
		MaxAge:       preflightAge,
	})
}
