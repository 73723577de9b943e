package guard

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"holdfast/operator/httpapi"
)

// refuseForeignPage refuses requests that another site's script makes a browser send. Browsers never send a token
// automatically, but a server without tokens accepts every client that reaches it, including a browser on the same machine.
// Such a server also requires an IP address or localhost as its host, against DNS rebinding. Pages of allowedOrigins, which
// are origins, may call as well.
func refuseForeignPage(c *fiber.Ctx, withoutTokens bool, allowedOrigins []string) error {
	host := string(c.Request().Host())
	if withoutTokens && !isLocalName(host) {
		return httpapi.Refuse(httpapi.CodeForeignPage)
	}
	origin := c.Get(fiber.HeaderOrigin)
	if slices.Contains(allowedOrigins, origin) {
		return nil
	}
	if origin != "" && !isOurOrigin(c, origin) {
		return httpapi.Refuse(httpapi.CodeForeignPage)
	}
	if site := c.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return httpapi.Refuse(httpapi.CodeForeignPage)
	}
	return nil
}

func isOurOrigin(c *fiber.Ctx, origin string) bool {
	from, err := url.Parse(origin)
	return err == nil && strings.EqualFold(from.Host, string(c.Request().Host()))
}

// isLocalName accepts localhost and IP addresses, with or without a port.
func isLocalName(host string) bool {
	if strings.HasPrefix(host, "[") {
		host, _, _ = strings.Cut(host[1:], "]")
	} else {
		host, _, _ = strings.Cut(host, ":")
	}
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost")
}

// isFollowedLink reports whether a browser follows a link to a page. Without tokens, a link to a host name doesn't count,
// since another site's DNS may point it here.
func isFollowedLink(c *fiber.Ctx, withoutTokens bool) bool {
	return c.Method() == fiber.MethodGet && c.Get(fiber.HeaderOrigin) == "" &&
		c.Get("Sec-Fetch-Mode") == "navigate" && c.Get("Sec-Fetch-Dest") == "document" &&
		(!withoutTokens || isLocalName(string(c.Request().Host())))
}
