package main

import (
	"os"
	"path/filepath"

	"holdfast/bench/lab"
	"holdfast/providers"
)

// The providers of the load.
const (
	stripe   = "stripe"
	firehose = "firehose"
)

// The definitions: Stripe's own without its rate limit, at normal priority, and the same once more in the bulk lane.
const (
	stripeDefinition = "name: stripe\nextends: stripe\nrate: null\npriority: normal\n"

	firehoseDefinition = `name: firehose
extends: stripe
rate: null
priority: normal
lane: bulk
samples:
  customer.updated:
    body: |
      {
        id: "evt_\(.id)", object: "event", api_version: "2024-06-20", created: .now, livemode: false,
        type: "customer.updated",
        data: {object: {id: "cus_\(.entity)", object: "customer", name: "Ada Lovelace", balance: 0, metadata: {order: .id}}}
      }
`
)

// writeDefinitions fills the directory that the product is given.
func writeDefinitions(dir string) (*providers.Catalogue, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{stripe: stripeDefinition, firehose: firehoseDefinition} {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	c, err := providers.Load(dir)
	if err != nil {
		return nil, err
	}
	return c.WithSecrets(func(name string) []string {
		if name == lab.SecretVariable {
			return []string{lab.Secret}
		}
		return nil
	}), nil
}
