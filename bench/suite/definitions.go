package suite

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"holdfast/bench/lab"
	"holdfast/bench/loadgen"
	"holdfast/providers"
	"holdfast/providers/reading"
)

// The providers of single-type loads.
const (
	Stripe   = "stripe"
	Firehose = "firehose"
	// Walked and missed have a list of events, walked in the bulk lane; thin has its state fetched.
	Walked = "walked"
	Missed = "missed"
	Thin   = "thin"
)

// The definitions: the catalogue's without their rate limits, Stripe at normal priority, and Stripe again in the bulk
// lane.
const (
	unlimitedDefinition = "name: %[1]s\nextends: %[1]s\nrate: null\n"

	stripeDefinition = "name: stripe\nextends: stripe\nrate: null\npriority: normal\n"

	firehoseDefinition = `name: firehose
extends: stripe
rate: null
priority: normal
lane: bulk
` + customerSample

	customerSample = `samples:
  customer.updated:
    body: |
      {
        id: "evt_\(.id)", object: "event", api_version: "2024-06-20", created: .now, livemode: false,
        type: "customer.updated",
        data: {object: {id: "cus_\(.entity)", object: "customer", name: "Ada Lovelace", balance: 0, metadata: {order: .id}}}
      }
`
)

// apiDefinition gives a provider an API on loopback, whose rate isn't what limits it.
const apiDefinition = `name: %s
extends: stripe
rate: null
priority: normal
lane: %s
api: {host: "{BENCH_API_HOST}", headers: {authorization: "Bearer {BENCH_API_KEY}"}, rate: {requests: 100000, per: 1s}}
`

const (
	listDefinition = apiDefinition + "recover: {settle: 1s, types: [\"*\"]}\n"

	thinDefinition = apiDefinition + `recover: null
fetch:
  - {types: ["customer.*"], path: "/v1/customers/{id}", values: {id: .body.data.object.id}}
entities:
  - {kind: customer, scope: source, fetched: true, id: .body.data.object.id, op: snapshot, state: .fetched}
` + customerSample
)

// writeDefinitions writes the product's definitions to the directory.
func writeDefinitions(dir string) (*providers.Catalogue, error) {
	builtIn, err := providers.Load("")
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, name := range builtIn.Names() {
		if p, _ := builtIn.Lookup(name); p.Rate() != nil {
			files[name] = fmt.Sprintf(unlimitedDefinition, name)
		}
	}
	files[Stripe], files[Firehose] = stripeDefinition, firehoseDefinition
	files[Walked] = fmt.Sprintf(listDefinition, Walked, "bulk")
	files[Missed] = fmt.Sprintf(listDefinition, Missed, "workflow")
	files[Thin] = fmt.Sprintf(thinDefinition, Thin, "workflow")
	return lab.WriteDefinitions(dir, files)
}

const (
	// mixSpread is how far back the times of the mix's events lie, so that many are out of order.
	mixSpread = 2 * time.Second
	// mixBatch is the number of events in a request to providers with batches.
	mixBatch = 5
)

// signs reports whether the lab's secret makes a sample authentic and leaves its body unchanged, and its events are pieces of it.
// For some providers only the sender can sign, some signatures are in the body, and some events are assembled.
func signs(p *providers.Provider, sample string) bool {
	r, err := p.Sample(sample, "x", time.Now())
	if err != nil {
		return false
	}
	body := bytes.Clone(r.Body)
	if p.SignWithSecrets(r, time.Now()) != nil || p.Authenticate(r, time.Now()) != nil || !bytes.Equal(r.Body, body) {
		return false
	}
	items, err := p.Split(r)
	return err == nil && !slices.ContainsFunc(items, func(i reading.Item) bool { return !bytes.Contains(body, i.Body) })
}

// ownProviders are this benchmark's own providers.
var ownProviders = []string{Firehose, Walked, Missed, Thin}

// notEvents are samples that become no event of their own: a handshake, and a question, which waits for a handler of its user.
var notEvents = []string{"url_verification", "call_inbound"}

// Mixed is a load of equal shares of all samples of the catalogue, in their natural size: patches, mentions, snapshots,
// tombstones and batches, many of them out of order.
func (s *Suite) Mixed(node *lab.Node) Drive {
	d := Drive{Nodes: []*lab.Node{node}}
	d.Spread, d.Batch = mixSpread, mixBatch
	for _, name := range s.catalogue.Names() {
		provider, _ := s.catalogue.Lookup(name)
		for _, sample := range provider.SampleTypes() {
			if !slices.Contains(ownProviders, name) && !slices.Contains(notEvents, sample) && signs(provider, sample) {
				d.Mix = append(d.Mix, loadgen.Share{Provider: provider, Type: sample})
			}
		}
	}
	return d
}
