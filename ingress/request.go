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

// webhookPrefix begins the path of every provider that declares none of its own.
const webhookPrefix = "/webhooks/"

func isWebhookPath(path string) bool { return strings.HasPrefix(path, webhookPrefix) }

// isCompressed says that the body is not as it was signed. Nothing is ever decompressed: a kilobyte can hold a gigabyte.
func isCompressed(c *fiber.Ctx) bool {
	return slices.ContainsFunc(c.Request().Header.PeekAll(fiber.HeaderContentEncoding), func(encoding []byte) bool {
		return len(encoding) > 0 && !bytes.EqualFold(encoding, []byte("identity"))
	})
}

// readRequest takes a request out of Fiber's hands. The memory of a request is overwritten by the next one on the connection, so
// all of it is copied, once: the body when it turns out to be authentic, everything else here; texts that Fiber gives are copies
// already. The body is taken from fasthttp, because Fiber would decompress it.
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

// copyHeader gives the values of each header by its name in lower case.
func copyHeader(h *fasthttp.RequestHeader) map[string][]string {
	n := h.Len()
	header, values := make(map[string][]string, n), make([]string, 0, n)
	for key, value := range h.All() {
		name, i := lowerName(key), len(values)
		if values = append(values, string(value)); header[name] == nil {
			header[name] = values[i : i+1 : i+1] // with room for this one only
		} else {
			header[name] = append(header[name], values[i])
		}
	}
	return header
}

// lowerName gives the name of a header in lower case; of those that nearly every request has, without a copy.
func lowerName(key []byte) string {
	if name, ok := usualNames[string(key)]; ok {
		return name
	}
	return strings.ToLower(string(key))
}

var usualNames = map[string]string{
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
