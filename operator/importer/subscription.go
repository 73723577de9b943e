package importer

import (
	"encoding/json"
)

// Subscription is one of a dispatcher without a concept of destinations.
type Subscription struct {
	Line       int64
	Name       string
	URL        string
	EventTypes []string
	Providers  []string
	Secret     string
	// RateLimit is in requests per second; nil for no limit.
	RateLimit *float64
	Active    bool
	// Signature declares what is signed; nil means Standard Webhooks.
	Signature json.RawMessage
	Headers   map[string]string
	// Retry is the retry policy of the endpoint, as in subscriptions.yaml; nil means the default.
	Retry json.RawMessage
}

func readSubscription(of *record) *Subscription {
	return &Subscription{
		Line: of.line, Name: of.needed("name"), URL: of.needed("url"), EventTypes: of.list("event_types"),
		Providers: of.list("providers"), Secret: of.text("secret"), RateLimit: of.number("rate_limit"), Active: of.flag("active", true),
		Signature: of.object("signature"), Headers: firsts(of.parts("headers")), Retry: of.object("retry"),
	}
}
