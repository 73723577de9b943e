package main

import (
	"context"
)

// handoff compares bulk events that start a workflow of the user with bare starts of it.
func handoff(ctx context.Context, s *suite) error {
	return s.withOutlet(ctx, "handoff", ownWorkflows, outlet{each: 1}, func(o *outlet) error { return s.toOwn(ctx, o) })
}

func (s *suite) toOwn(ctx context.Context, o *outlet) error {
	const sideOwn, sideStart = "bulk event to a workflow", "start of that workflow"
	return s.withPart(ctx, partStarts, func(starts *part) error {
		t, err := s.alternate(ctx, s.full(sideOwn, o.load(firehose)), s.asked(sideStart, starts, 0))
		if err != nil {
			return err
		}
		s.samples("events to a workflow / bare starts of it", "", nil, t.ratios(sideOwn, sideStart, rateOf))
		s.samples("events to a workflow", "/s", nil, t.values(sideOwn, rateOf))
		return nil
	})
}
