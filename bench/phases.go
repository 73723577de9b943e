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
		{"throughput", "Full load, in turns: bare steps, events, empty workflows, the mix of the catalogue, bulk events.",
			false, throughput},
		{"latency", "A quarter of what the engine bears, in turns: events, empty workflows, bulk events; and events at full load.",
			false, latency},
		{"storm", "Requests with wrong signatures, as fast as they go: no store may hear of them.", false, storm},
		{"ack", "Temporal is away: what the inbox takes, beside a minimal handler with group commit, in turns.", false, ack},
		{"overload", "Twice as many events as can be processed: every ACK in time, and all of them processed in the end.",
			false, overload},
		{"deliveries", "Events that are delivered to one endpoint, to a hundred, to a workflow; and such that are not, in turns.",
			false, deliveries},
		{"entity", "The writer alone: late changes of an entity with 300,000 links and of such with ten, in turns.", false, entity},
		{"duplicates", "New events and the same ones again, in turns.", true, duplicates},
		{"isolation", "10,000 endpoints that are all well, and as many of which some are dead or slow, in turns.", true, isolation},
		{"growth", "The same throughput with millions of events stored, beside an empty database, in turns.", true, growth},
		{"scaleout", "One, two and four worker processes behind an ingress of its own, in turns.", true, scaleOut},
		{"ablation", "The product beside itself without one thing, for one thing after the other, in turns.", true, ablation},
		{"memory", "The memory of serve over half an hour.", true, memory},
	}
}

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
