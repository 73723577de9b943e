package ab

import (
	"context"

	"holdfast/bench/figures"
	"holdfast/bench/suite"
)

// Phases returns the phases that compare the working tree with the revision suite.Options.Base. A ratio is "now" over "before".
func Phases() []suite.Phase {
	return []suite.Phase{
		{Name: "events", About: "Full load in turns: events, and events of the bulk lane.", Run: events},
		{Name: "overload", About: "Twice the rate that each sustains.", Run: overload},
		{
			Name:  "deliveries",
			About: "Events to an endpoint in turns: at 47 a second, and of the bulk lane at full load.", Run: deliveries,
		},
		{Name: "counts", About: "Statements, transactions and WAL of a delivered event, and at rest.", Counts: true, Run: counts},
	}
}

// pair is the two builds.
type pair struct {
	*suite.Suite

	now, before *build
}

// both runs f with both builds as processes.
func both(ctx context.Context, s *suite.Suite, n needs, f func(*pair) error) error {
	path, err := compileBase(ctx, s)
	if err != nil {
		return err
	}
	p := &pair{s, newBuild(s, "now", ""), newBuild(s, "before", path)}
	return p.now.serve(ctx, n, func() error {
		return p.before.serve(ctx, n, func() error { return f(p) })
	})
}

// inTurns measures sides of both builds in turns. Each function makes the side of a build.
func (p *pair) inTurns(ctx context.Context, sides ...func(*build) suite.Side) (suite.Comparison, error) {
	var all []suite.Side
	for _, of := range sides {
		all = append(all, p.now.without(p.before, of(p.now)), p.before.without(p.now, of(p.before)))
	}
	return p.Alternate(ctx, all...)
}

// sideOf names a side, or a figure, after a build.
func sideOf(name string, b *build) string { return name + ", " + b.name }

func (p *pair) ratio(t suite.Comparison, side, figure string, goal *figures.Goal, value func(*suite.Slice) float64) {
	p.Samples(figure, "", goal, t.Ratios(sideOf(side, p.now), sideOf(side, p.before), value))
}

// values adds a figure of each build.
func (p *pair) values(t suite.Comparison, side, figure, unit string, value func(*suite.Slice) float64) {
	for _, b := range []*build{p.now, p.before} {
		p.Samples(sideOf(figure, b), unit, nil, t.Values(sideOf(side, b), value))
	}
}

func events(ctx context.Context, s *suite.Suite) error {
	const single, bulk = "event", "bulk event"
	return both(ctx, s, needs{database: "events"}, func(p *pair) error {
		t, err := p.inTurns(ctx,
			func(b *build) suite.Side { return s.Full(single, b.load(suite.Stripe)) },
			func(b *build) suite.Side { return s.Full(bulk, b.load(suite.Firehose)) })
		if err != nil {
			return err
		}
		p.ratio(t, single, "CPU of an event at full load", figures.AtMost(0.85), suite.CPUOf)
		p.ratio(t, single, "events end to end", figures.AtLeast(1.2), suite.RateOf)
		p.ratio(t, single, "ACK p50", nil, suite.P50Of)
		p.ratio(t, bulk, "CPU of a bulk event", figures.AtMost(0.8), suite.CPUOf)
		p.ratio(t, bulk, "bulk events end to end", nil, suite.RateOf)
		p.values(t, single, "CPU of an event", "ms", suite.CPUOf)
		p.values(t, single, "share through the inbox", "", suite.SpooledOf)
		return nil
	})
}

func overload(ctx context.Context, s *suite.Suite) error {
	return both(ctx, s, needs{database: "overload"}, func(p *pair) error {
		for _, b := range []*build{p.now, p.before} {
			rate, err := s.Probe(ctx, b.load(suite.Stripe))
			if err != nil {
				return err
			}
			got, err := s.Overload(ctx, b.load(suite.Stripe), rate)
			if err != nil {
				return err
			}
			s.Value(sideOf("ACK p99 at twice the rate", b), "ms", nil, suite.Milliseconds(got.Result.Latency.P99))
			s.Value(sideOf("share of the inbox at twice the rate", b), "", nil, got.SpooledShare())
		}
		return nil
	})
}

func deliveries(ctx context.Context, s *suite.Suite) error {
	const paced, bulk = "event to an endpoint, at 47/s", "bulk event to an endpoint"
	done50, done99 := func(one *suite.Slice) float64 { return one.Done50 }, func(one *suite.Slice) float64 { return one.Done99 }
	return both(ctx, s, needs{database: "deliveries", delivers: true}, func(p *pair) error {
		t, err := p.inTurns(ctx,
			func(b *build) suite.Side { return s.Paced(paced, b.load(suite.Stripe), b.endpoint, b.waits) },
			func(b *build) suite.Side { return s.Full(bulk, b.load(suite.Firehose)) })
		if err != nil {
			return err
		}
		p.ratio(t, paced, "CPU of a delivered event at 47/s", figures.AtMost(0.85), suite.CPUOf)
		p.ratio(t, paced, "ACK to POST p50 at 47/s", figures.AtMost(0.5), done50)
		p.ratio(t, paced, "ACK to POST p99 at 47/s", figures.AtMost(0.5), done99)
		p.ratio(t, bulk, "CPU of a delivered bulk event", figures.AtMost(0.8), suite.CPUOf)
		p.ratio(t, bulk, "delivered bulk events end to end", nil, suite.RateOf)
		p.values(t, paced, "ACK to POST p50 at 47/s", "ms", done50)
		p.values(t, paced, "ACK to POST p99 at 47/s", "ms", done99)
		return nil
	})
}
