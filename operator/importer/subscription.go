package importer

import (
	"encoding/json"
)

// ImportedSubscription is one of a dispatcher without a concept of destinations.
type ImportedSubscription struct {
	// Line is the line of the file, from 1.
	Line       int64    `json:"line"`
	Name       string   `json:"name"`
	URL        string   `json:"url"`
	EventTypes []string `json:"event_types,omitempty"`
	Providers  []string `json:"providers,omitempty"`
	Secret     string   `json:"secret,omitempty"`
	// RateLimit is in requests per second; nil for no limit.
	RateLimit *float64 `json:"rate_limit,omitempty"`
	Active    bool     `json:"active"`
	// Signature declares what is signed; nil means Standard Webhooks.
	Signature json.RawMessage   `json:"signature,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	// Retry is the retry policy of the endpoint, as in subscriptions.yaml; nil means the default.
	Retry json.RawMessage `json:"retry,omitempty"`
}

func readSubscription(of *record) *ImportedSubscription {
	return &ImportedSubscription{
		Line: of.line, Name: of.needed("name"), URL: of.needed("url"), EventTypes: of.list("event_types"),
		Providers: of.list("providers"), Secret: of.text("secret"), RateLimit: of.number("rate_limit"), Active: of.flag("active", true),
		Signature: of.object("signature"), Headers: firsts(of.parts("headers")), Retry: of.object("retry"),
	}
}
