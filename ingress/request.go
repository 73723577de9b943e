package ingress

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"holdfast/providers"
	"holdfast/providers/auth"
)

// webhookPrefix is the path prefix of providers that declare no path of their own.
const webhookPrefix = "/webhooks/"

func isWebhookPath(path string) bool { return strings.HasPrefix(path, webhookPrefix) }

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
		FromProxy:  s.proxies.trust(peerOf(c)),
	}
	for key, value := range r.URI().QueryArgs().All() {
		request.Query[string(key)] = append(request.Query[string(key)], string(value))
	}
	request.Header = copyHeader(&r.Header)
	return request
}

// removeProxyHeaders removes what only a trusted proxy may say of a request that comes from anyone else.
func (s *Server) removeProxyHeaders(p *providers.Provider, r *auth.Request) {
	if r.FromProxy {
		return
	}
	for _, name := range p.ProxyHeaders() {
		delete(r.Header, name)
	}
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

// commonHeaders are names that help to explain any refused request: headers of clients and proxies, and the signatures of
// well-known senders, which show that a request is for another provider.
var commonHeaders = setOf(
	"accept", "accept-encoding", "accept-language", "authorization", "cache-control", "cf-connecting-ip", "cf-ray", "connection",
	"content-digest", "content-encoding", "content-length", "content-type", "cookie", "date", "digest", "expect", "forwarded",
	"from", "host", "idempotency-key", "if-none-match", "origin", "pragma", "referer", "signature", "signature-input", "te",
	"traceparent", "tracestate", "transfer-encoding", "upgrade", "user-agent", "via", "x-api-key", "x-correlation-id",
	"x-forwarded-for",
	"x-forwarded-host", "x-forwarded-port", "x-forwarded-proto", "x-real-ip", "x-request-id", "x-signature", "x-timestamp",
	"paddle-signature", "shopify-hmac-sha256", "stripe-signature", "svix-id", "svix-signature", "svix-timestamp", "webhook-id",
	"webhook-signature", "webhook-timestamp", "x-cal-signature-256", "x-github-event", "x-hub-signature", "x-hub-signature-256",
	"x-retell-signature", "x-shopify-hmac-sha256", "x-shopify-topic", "x-slack-request-timestamp", "x-slack-signature",
	"x-twilio-signature", "x-webhook-token",
)

// knownHeaders returns the header names known from the definition or in general, each once and in their order, and counts all
// others: names that a stranger made up are never kept. The strings are our own, not the request's.
func knownHeaders(p *providers.Provider, h *fasthttp.RequestHeader) (names []string, others int) {
	var own map[string]string
	if p != nil {
		own = setOf(p.HeaderNames()...)
	}
	names = []string{}
	for key := range h.All() {
		name := lowerName(key)
		known, ok := commonHeaders[name]
		if !ok {
			known, ok = own[name]
		}
		switch {
		case !ok:
			others++
		case !slices.Contains(names, known):
			names = append(names, known)
		}
	}
	return names, others
}

func setOf(names ...string) map[string]string {
	set := make(map[string]string, len(names))
	for _, name := range names {
		set[name] = name
	}
	return set
}
