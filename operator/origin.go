package operator

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"holdfast/operator/exchange"
)

// refuseForeignPage refuses what the script of another site makes a browser send. A token is never sent by itself, but
// a server without tokens believes whoever reaches it, and a browser on the same machine does: so such a server also
// wants to be called by an address or as localhost, not by a name that somebody's DNS points here. The pages of guests, which
// are origins, may call as well.
func refuseForeignPage(c *fiber.Ctx, withoutTokens bool, guests []string) error {
	host := string(c.Request().Host())
	if withoutTokens && !isLocalName(host) {
		return exchange.Refuse(exchange.CodeForeignPage)
	}
	origin := c.Get(fiber.HeaderOrigin)
	if slices.Contains(guests, origin) {
		return nil
	}
	if origin != "" && !isOurOrigin(c, origin) {
		return exchange.Refuse(exchange.CodeForeignPage)
	}
	if site := c.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return exchange.Refuse(exchange.CodeForeignPage)
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

// isFollowedLink says whether a browser follows a link to a page. Where that has a name which somebody's DNS points here, it is
// none of ours.
func isFollowedLink(c *fiber.Ctx, withoutTokens bool) bool {
	return c.Method() == fiber.MethodGet && c.Get(fiber.HeaderOrigin) == "" &&
		c.Get("Sec-Fetch-Mode") == "navigate" && c.Get("Sec-Fetch-Dest") == "document" &&
		(!withoutTokens || isLocalName(string(c.Request().Host())))
}
