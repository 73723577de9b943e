package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// phase is one part of the suite.
type phase struct {
	name, about string
	// long phases run with --long or when they are named.
	long bool
	run  func(ctx context.Context, s *suite) error
}

// phases are in the order in which they run: the overload needs the rate that the first one finds.
func phases() []phase {
	return []phase{
		{"throughput", "Events end to end, beside the engine's ceiling (empty workflows) and bare steps, in turns.",
			false, throughput},
		{"latency", "Events as they come, 100 a second and a quarter of the ceiling: the ACK, and the time until they are processed.",
			false, latency},
		{"duplicates", "The same events again: what a duplicate costs, beside what an event costs.", false, duplicates},
		{"storm", "Requests with wrong signatures, as fast as they go: no store may hear of them.", false, storm},
		{"memory", "The memory of serve at 250 events a second.", false, memory},
		{"bulk", "The bulk lane, end to end.", false, bulk},
		{"ack", "Temporal is away: what the inbox takes, beside a minimal handler with group commit, in turns.", false, ack},
		{"overload", "Twice as many events as can be processed: every ACK in time, and all of them processed in the end.",
			false, overload},
		{"growth", "The same throughput with millions of events stored, beside an empty database, in turns.", true, growth},
		{"scaleout", "One, two and four worker processes behind an ingress of its own.", true, scaleOut},
		{"settings", "What each line of the servers' profile is worth.", true, settings},
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

// chosen are the phases of a run.
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
