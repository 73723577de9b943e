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

// The definitions: Stripe's own without its rate limit, and the same once more in the bulk lane.
const (
	stripeDefinition = "name: stripe\nextends: stripe\nrate: null\n"

	firehoseDefinition = `name: firehose
extends: stripe
rate: null
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

// definitions says what this version of the product knows.
type definitions struct {
	// noBulk is why there is no bulk lane; "" if there is.
	noBulk string
}

// writeDefinitions fills the directory that the product is given.
func writeDefinitions(dir string) (d definitions, c *providers.Catalogue, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return d, nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "stripe.yaml"), []byte(stripeDefinition), 0o644); err != nil {
		return d, nil, err
	}
	bulk := filepath.Join(dir, "firehose.yaml")
	if err := os.WriteFile(bulk, []byte(firehoseDefinition), 0o644); err != nil {
		return d, nil, err
	}
	if c, err = providers.Load(dir); err != nil {
		d.noBulk = "the definitions of this version know no bulk lane: " + err.Error()
		if err := os.Remove(bulk); err != nil {
			return d, nil, err
		}
		if c, err = providers.Load(dir); err != nil {
			return d, nil, err
		}
	}
	return d, c.WithSecrets(func(name string) []string {
		if name == lab.SecretVariable {
			return []string{lab.Secret}
		}
		return nil
	}), nil
}
