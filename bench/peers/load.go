package peers

import (
	"fmt"
	"strings"
	"time"

	"holdfast/bench/loadgen"
	"holdfast/providers"
)

// The load is the same for all: unique signed Stripe events of this size, over as many connections.
const (
	bodySize    = 600
	connections = 32
	entities    = 1000
	eventType   = "customer.updated"
	timeout     = 10 * time.Second
)

// The providers of the load generator. Those of fan-out differ in name only.
const (
	providerEvents    = "stripe"
	providerBulk      = "firehose"
	providerEvents100 = "stripe-fanout"
	providerBulk100   = "firehose-fanout"
	providerConvoy    = "convoy"
	providerOutpost   = "outpost"
)

// eventSample is the Stripe event that every system gets. A definition that extends another one doesn't inherit its samples.
const eventSample = `{
          id: "evt_\(.id)", object: "event", api_version: "2024-06-20", created: .now, livemode: false,
          type: "customer.updated", pending_webhooks: 1, request: {id: null, idempotency_key: null},
          data: {
            object: {id: "cus_\(.entity)", object: "customer", name: "Ada Lovelace", email: "ada@example.com", balance: 0,
                   metadata: {order: .id}},
            previous_attributes: {name: "Ada Byron"}
          }
        }`

const samples = "samples:\n  customer.updated:\n    body: |\n      " + eventSample + "\n"

// Holdfast's catalog limits Stripe's rate, and gives it a priority.
const (
	eventsDefinition = "extends: stripe\nrate: null\npriority: normal\n"
	bulkDefinition   = eventsDefinition + "lane: bulk\n"
)

// holdfastDefinitions are in Holdfast's catalog.
var holdfastDefinitions = map[string]string{
	providerEvents:    "name: stripe\n" + eventsDefinition,
	providerBulk:      "name: firehose\n" + bulkDefinition + samples,
	providerEvents100: "name: stripe-fanout\n" + eventsDefinition + samples,
	providerBulk100:   "name: firehose-fanout\n" + bulkDefinition + samples,
}

// convoyDefinition has the signature that a source of Convoy verifies: an HMAC of the body, in hexadecimal.
const convoyDefinition = `name: convoy
extends: stripe
auth:
  - hmac:
      secrets: STRIPE_WEBHOOK_SECRET
      signed: "{body}"
      signature: {header: x-signature, grammar: plain}
` + samples

// outpostDefinition wraps the event into a request to publish it. Outpost has no sources that verify signatures.
const outpostDefinition = `name: outpost-TENANT
extends: stripe
auth:
  - token: {secrets: STRIPE_WEBHOOK_SECRET, in: bearer}
type: .body.topic
occurred_at:
  - {expr: .body.data.created, units: [unix_s]}
samples:
  customer.updated:
    body: |
      {
        id: "evt_\(.id)", tenant_id: "TENANT", topic: "customer.updated",
        data: ({padding: "PADDING"} + ` + eventSample + `)
      }
`

// outpostPadding makes the data of a request to Outpost as large as the body of the others.
const outpostPadding = 162

// outpostDefinitionOf returns the definition for a tenant.
func outpostDefinitionOf(tenant string) string {
	return strings.NewReplacer("TENANT", tenant, "PADDING", strings.Repeat("x", outpostPadding)).Replace(outpostDefinition)
}

// optionsFor returns the load for a target.
func optionsFor(c *providers.Catalogue, provider, target string, into loadgen.Recorder) (o loadgen.Options, err error) {
	p, ok := c.Lookup(provider)
	if !ok {
		return o, fmt.Errorf("no definition of %s", provider)
	}
	o = loadgen.Options{
		Targets: []string{target}, Connections: connections, Entities: entities, Timeout: timeout, Ledger: into,
		Mix: []loadgen.Share{{Provider: p, Type: eventType}},
	}
	if !strings.HasPrefix(provider, providerOutpost) { // its padding is inside of the data
		o.BodySize = bodySize
	}
	return o, nil
}
