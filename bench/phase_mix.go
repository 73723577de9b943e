package main

import (
	"context"

	"holdfast/bench/lab"
)

// mix compares events with the least that three steps cost in a workflow, and with the mix of the catalogue, at full load.
func mix(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		return s.withPart(ctx, partCeiling, func(ceiling *part) error {
			return s.withPart(ctx, partSteps, func(steps *part) error {
				return s.mixLoad(ctx, node, ceiling, steps)
			})
		})
	})
}

func (s *suite) mixLoad(ctx context.Context, node *lab.Node, ceiling, steps *part) error {
	const sideSteps, sideMix = "bare steps", "event of the mix"
	t, err := s.alternate(ctx, s.asked(sideSteps, steps, 0), s.full(sideEvent, load(node, stripe)), s.asked(sideEmpty, ceiling, 0),
		s.full(sideMix, s.mixed(node)))
	if err != nil {
		return err
	}
	s.samples("end to end / bare steps", "", nil, t.ratios(sideEvent, sideSteps, rateOf))
	s.samples("CPU of an event / of bare steps", "", nil, t.ratios(sideEvent, sideSteps, cpuOf))
	s.samples("mix of the catalogue / ceiling", "", nil, t.ratios(sideMix, sideEmpty, rateOf))
	s.samples("CPU of an event of the mix / of an empty workflow", "", nil, t.ratios(sideMix, sideEmpty, cpuOf))
	s.samples("events of the mix end to end", "/s", nil, t.values(sideMix, rateOf))
	s.samples("bare steps", "/s", nil, t.values(sideSteps, rateOf))
	return nil
}
