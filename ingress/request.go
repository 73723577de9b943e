package ingress

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"holdfast/providers"
)

// webhookPrefix begins the path of every provider that declares none of its own.
const webhookPrefix = "/webhooks/"

func isWebhookPath(path string) bool { return strings.HasPrefix(path, webhookPrefix) }

// isCompressed says that the body is not as it was signed. Nothing is ever decompressed: a kilobyte can hold a gigabyte.
func isCompressed(c *fiber.Ctx) bool {
	return slices.ContainsFunc(c.Request().Header.PeekAll(fiber.HeaderContentEncoding), func(encoding []byte) bool {
		return len(encoding) > 0 && !bytes.EqualFold(encoding, []byte("identity"))
	})
}

// copyRequest takes a request out of Fiber's hands. Everything that Fiber gives is memory that the next request on the
// connection overwrites, so all of it is copied here, once. BodyRaw, because Body would decompress.
func (s *Server) copyRequest(c *fiber.Ctx, params map[string]string, client netip.Addr) *providers.Request {
	request := &providers.Request{
		Method:     strings.Clone(c.Method()),
		Path:       strings.Clone(c.Path()),
		PathParams: params,
		Query:      map[string][]string{},
		Header:     map[string][]string{},
		Body:       bytes.Clone(c.BodyRaw()),
		URL:        s.PublicURL + strings.Clone(c.OriginalURL()),
		RemoteIP:   client,
	}
	for key, value := range c.Request().URI().QueryArgs().All() {
		request.Query[string(key)] = append(request.Query[string(key)], string(value))
	}
	for key, value := range c.Request().Header.All() {
		name := strings.ToLower(string(key))
		request.Header[name] = append(request.Header[name], string(value))
	}
	return request
}
