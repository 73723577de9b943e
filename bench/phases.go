package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

type phase struct {
	name, about string
	// long phases run only with --long or if named.
	long bool
	run  func(ctx context.Context, s *suite) error
}

// phases returns them in the order in which they run: the overload needs the rate that the first one measures.
func phases() []phase {
	return []phase{
		{"idle", "Everything at rest for a minute, after a warm-up; then the same as a small installation.", false, atRest},
		{"throughput", "Full load, alternating between events, empty workflows and bulk events.", false, throughput},
		{"latency", "47 a second, alternating between events, empty workflows and bulk events.", false, latency},
		{"storm", "Requests with invalid signatures at full speed: none may reach a store.", false, storm},
		{"ack", "Temporal is down: the inbox, compared with a minimal handler with group commit.", false, ack},
		{"overload", "Twice as many events as can be processed: every ACK is in time, and all are processed in the end.",
			false, overload},
		{"deliveries", "Bulk events delivered to one endpoint, to a hundred, and to none; events to an endpoint at 47 a second.",
			false, deliveries},
		{"queues", "Deliveries from a queue that was analyzed while it was empty, and after a pause with 100,000 waiting.",
			false, queues},
		{"entity", "The writer alone: out-of-order changes of an entity with 300,000 links, and of entities with ten.", false, entity},
		{"mix", "Full load, alternating between bare steps, events, empty workflows and the mix of the catalogue.", true, mix},
		{"handoff", "Bulk events that start a workflow, and bare starts of it.", true, handoff},
		{"apis", "A provider's API on loopback: known and missed events of a list, and events whose state is fetched.", true, apis},
		{"duplicates", "New events, and the same ones again.", true, duplicates},
		{"isolation", "10,000 healthy endpoints, and 10,000 of which some are dead or slow.", true, isolation},
		{growthPhase, "Pages read and events delivered with ten million stored events and with a hundredth; five days of retention.",
			true, growth},
		{"scaleout", "One, two and four worker processes behind a separate ingress.", true, scaleOut},
		{"ablation", "The product compared with itself without one feature, for one feature after the other.", true, ablation},
		{"bodies", "500 senders of 25 MiB each, half of them strangers, next to 47 small events a second: memory and ACK.", true,
			bodies},
		{"memory", "The memory of serve over half an hour.", true, memory},
	}
}

// growthPhase needs a server that counts the pages that statements read.
const growthPhase = "growth"

func namesOf(long bool) (names []string) {
	for _, p := range phases() {
		if p.long == long {
			names = append(names, p.name)
		}
	}
	return names
}

// chosen returns the phases of a run.
func chosen(o options) ([]phase, error) {
	all := phases()
	known := append(namesOf(false), namesOf(true)...)
	for _, name := range o.phases {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no phase %q; there are: %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(p phase) bool {
		if len(o.phases) > 0 {
			return !slices.Contains(o.phases, p.name)
		}
		return p.long && !o.long
	}), nil
}
