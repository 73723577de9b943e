package ingress

import (
	"slices"

	"github.com/valyala/fasthttp"

	"holdfast/providers"
)

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
