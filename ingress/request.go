package ingress

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"holdfast/providers/auth"
)

// webhookPrefix is the path prefix of providers that declare no path of their own.
const webhookPrefix = "/webhooks/"

func isWebhookPath(path string) bool { return strings.HasPrefix(path, webhookPrefix) }

// isCompressed reports whether the body has a content encoding. Bodies are never decompressed: a kilobyte can hold a gigabyte.
func isCompressed(c *fiber.Ctx) bool {
	return slices.ContainsFunc(c.Request().Header.PeekAll(fiber.HeaderContentEncoding), func(encoding []byte) bool {
		return len(encoding) > 0 && !bytes.EqualFold(encoding, []byte("identity"))
	})
}

// readRequest copies a request out of Fiber, whose memory the next request on the connection overwrites. The body is copied
// only when it turns out to be authentic, everything else here; strings that Fiber returns are copies already. The body is read
// from fasthttp, because Fiber would decompress it.
func (s *Server) readRequest(c *fiber.Ctx, params map[string]string, client netip.Addr) *auth.Request {
	r := c.Request()
	request := &auth.Request{
		Method:     c.Method(),
		Path:       c.Path(),
		PathParams: params,
		Query:      map[string][]string{},
		Body:       r.Body(),
		URL:        s.PublicURL + c.OriginalURL(),
		RemoteIP:   client,
	}
	for key, value := range r.URI().QueryArgs().All() {
		request.Query[string(key)] = append(request.Query[string(key)], string(value))
	}
	request.Header = copyHeader(&r.Header)
	return request
}

// copyHeader returns the values of each header by its lower-case name.
func copyHeader(h *fasthttp.RequestHeader) map[string][]string {
	n := h.Len()
	header, values := make(map[string][]string, n), make([]string, 0, n)
	for key, value := range h.All() {
		name, i := lowerName(key), len(values)
		if values = append(values, string(value)); header[name] == nil {
			header[name] = values[i : i+1 : i+1] // capped, so that append doesn't overwrite the next
		} else {
			header[name] = append(header[name], values[i])
		}
	}
	return header
}

// lowerName returns a header's name in lower case, without an allocation for common ones.
func lowerName(key []byte) string {
	if name, ok := commonNames[string(key)]; ok {
		return name
	}
	return strings.ToLower(string(key))
}

var commonNames = map[string]string{
	fiber.HeaderHost:           "host",
	fiber.HeaderUserAgent:      "user-agent",
	fiber.HeaderContentType:    "content-type",
	fiber.HeaderContentLength:  "content-length",
	fiber.HeaderAccept:         "accept",
	fiber.HeaderAcceptEncoding: "accept-encoding",
	fiber.HeaderConnection:     "connection",
	headerRequestID:            "x-request-id",
	headerCorrelationID:        "x-correlation-id",
}
