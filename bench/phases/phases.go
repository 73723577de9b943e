// Package phases has the phases of the benchmark, one per file. It must not start servers itself: package suite does.
package phases

import (
	"context"

	"holdfast/bench/console"
	"holdfast/bench/scale"
	"holdfast/bench/suite"
)

type (
	drive  = suite.Drive
	driven = suite.Driven
	outlet = suite.Outlet
	part   = suite.Part
	side   = suite.Side
	slice  = suite.Slice
)

// bench is the run that phases measure with.
type bench struct{ *suite.Suite }

func of(name, about string, isLong bool, run func(context.Context, *bench) error) suite.Phase {
	return suite.Phase{Name: name, About: about, Long: isLong, Run: func(ctx context.Context, s *suite.Suite) error {
		return run(ctx, &bench{s})
	}}
}

func counting(p suite.Phase) suite.Phase {
	p.Counts = true
	return p
}

// All returns the phases in the order in which they run: the overload needs the rate that the first one measures.
func All() []suite.Phase {
	return append([]suite.Phase{
		of("idle", "Everything at rest for a minute, after a warm-up; then the same as a small installation.", false, atRest),
		of("throughput", "Full load, alternating between events, empty workflows and bulk events.", false, throughput),
		of("latency", "47 a second, alternating between events, empty workflows and bulk events.", false, latency),
		of("storm", "Requests with invalid signatures at full speed: none may reach a store.", false, storm),
		of("ack", "Temporal is down: the inbox, compared with a minimal handler with group commit.", false, ack),
		of("overload", "Twice as many events as can be processed: every ACK is in time, and all are processed in the end.",
			false, overload),
		of("deliveries", "Bulk events delivered to one endpoint, to a hundred, and to none; events to an endpoint at 47 a second.",
			false, deliveries),
		of("brokers", "Bulk events delivered to an endpoint, to a stream of NATS, and to a topic of Kafka's stand-in.", true, brokers),
		of("queues", "Deliveries from a queue that was analyzed while it was empty, and after a pause with 100,000 waiting.",
			false, queues),
		of("entity", "The writer alone: out-of-order changes of an entity with 300,000 links, and of entities with ten.",
			false, entity),
		of("mix", "Full load, alternating between bare steps, events, empty workflows and the mix of the catalogue.", true, mix),
		of("handoff", "Bulk events that start a workflow, and bare starts of it.", true, handoff),
		of("apis", "A provider's API on loopback: known and missed events of a list, and events whose state is fetched.",
			true, apis),
		of("duplicates", "New events, and the same ones again.", true, duplicates),
		of("isolation", "10,000 healthy endpoints, and 10,000 of which some are dead or slow.", true, isolation),
		of("filters", "47 events a second, alone and next to events of which each is compared with 10,000 filters.", true, filters),
		counting(of("growth", "Pages read and events delivered with ten million stored events and with a hundredth; five days "+
			"of retention.",
			true, growth)),
		of("scaleout", "One, two and four worker processes behind a separate ingress.", true, scaleOut),
		of("ablation", "The product compared with itself without one feature, for one feature after the other.", true, ablation),
		of("bodies", "500 senders of 25 MiB each, half of them strangers, next to 47 small events a second: memory and ACK.", true,
			bodies),
		of("memory", "The memory of serve over half an hour.", true, memory),
		console.Phase(),
	}, scale.Phases()...)
}
