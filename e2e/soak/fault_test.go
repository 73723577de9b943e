package soak

import (
	"context"
	"math/rand/v2"
	"time"
)

// fault is something that fails and recovers.
type fault struct {
	name string
	// end follows begin after a random outage. It is nil if the world recovers alone, since what was killed is restarted.
	begin, end func(*world, *rand.Rand)
}

// serverFaults and processFaults occur independently, so that two may overlap.
var (
	serverFaults = []fault{
		{"PostgreSQL killed", func(w *world, _ *rand.Rand) { _ = w.cluster.Kill() }, nil},
		{"Temporal killed", func(w *world, _ *rand.Rand) { _ = w.temporal.Kill() }, nil},
		{"Temporal frozen", func(w *world, _ *rand.Rand) { _ = w.temporal.Freeze() },
			func(w *world, _ *rand.Rand) { _ = w.temporal.Thaw() }},
	}
	processFaults = []fault{
		{"process killed", func(w *world, rng *rand.Rand) { w.nodes[rng.IntN(2)].signal(kill) }, nil},
		{"process frozen", func(w *world, rng *rand.Rand) { w.nodes[rng.IntN(2)].signal(freeze) }, thawAll},
		{"endpoint refuses", func(w *world, _ *rand.Rand) { w.endpoint.refuses.Store(true) },
			func(w *world, _ *rand.Rand) { w.endpoint.refuses.Store(false) }},
	}
)

func thawAll(w *world, _ *rand.Rand) {
	for _, n := range w.nodes {
		n.signal(thaw)
	}
}

// longestOutage is more than the ACK budget and less than a sender's timeout.
const longestOutage = 3 * time.Second

// disturb makes faults of one list, one after the other, until the load ends.
func (r *round) disturb(ctx context.Context, faults []fault, rng *rand.Rand) {
	for r.pause(ctx, rng, r.betweenFaults) {
		f := faults[rng.IntN(len(faults))]
		r.count(f.name)
		f.begin(r.world, rng)
		if f.end != nil {
			r.pause(ctx, rng, longestOutage)
			f.end(r.world, rng)
		}
	}
}
