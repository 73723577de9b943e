package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

// ack stops Temporal, measures the rate of the inbox, and starts Temporal again. It checks the accepted events in the inbox,
// row by row and byte by byte, and then drops them, since processing some hundred thousand events would take too long.
func ack(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		if err := s.lab.StopTemporal(); err != nil {
			return err
		}
		err := s.withoutTemporal(ctx, node)
		return errors.Join(err, s.lab.StartTemporal(ctx))
	})
}

func (s *suite) withoutTemporal(ctx context.Context, node *lab.Node) error {
	if err := s.awaitInbox(ctx, node); err != nil {
		return err
	}
	return s.withPart(ctx, partHandler, func(handler *part) error {
		url, err := handler.line()
		if err != nil {
			return err
		}
		const sideHandler, sideInbox = "minimal handler", "event into the inbox"
		t, err := s.alternate(ctx, s.minimal(sideHandler, url), s.intoInbox(sideInbox, node))
		if err != nil {
			return err
		}
		s.samples("durable ACKs / minimal handler", "", figures.AtLeast(0.7), t.ratios(sideInbox, sideHandler, rateOf))
		s.samples("CPU of a durable ACK / of the minimal handler", "", nil, t.ratios(sideInbox, sideHandler, cpuOf))
		s.samples("durable ACKs without Temporal", "/s", nil, t.values(sideInbox, rateOf))
		s.samples("ACKs of the minimal handler", "/s", nil, t.values(sideHandler, rateOf))
		s.samples("ACK p50 without Temporal", "ms", nil, t.values(sideInbox, p50Of))
		s.samples("ACK p99 without Temporal", "ms", nil, t.values(sideInbox, p99Of))
		return nil
	})
}

// minimal returns a side that sends to the minimal handler.
func (s *suite) minimal(name, url string) side {
	return side{name, func(ctx context.Context) (slice, error) {
		d := drive{}
		d.Targets, d.Duration = []string{url}, s.lasting(sliceTime)
		before := s.lab.Meter.Sample()
		r, err := s.send(ctx, d)
		if err == nil && (r.OK != r.Requests || r.OK == 0) {
			err = fmt.Errorf("the minimal handler has taken %d of %d requests: %v %s", r.OK, r.Requests, r.Statuses, r.FirstError)
		}
		if err != nil {
			return slice{}, err
		}
		_, used, err := s.used(ctx, before, nil)
		delete(used, lab.LabelHoldfast)
		return slice{rate: r.PerSecond, cost: cost(used, r.OK)}, err
	}}
}

// intoInbox returns a side that sends to the product, which stores everything in the inbox.
func (s *suite) intoInbox(name string, node *lab.Node) side {
	return side{name, func(ctx context.Context) (slice, error) {
		d := load(node, stripe)
		d.inInbox, d.Duration = true, s.lasting(sliceTime)
		got, err := s.drive(ctx, d)
		if err == nil && got.result.Spooled != got.result.OK {
			err = fmt.Errorf("of %d events only %d went to the inbox", got.result.OK, got.result.Spooled)
		}
		one := sliceOf(got)
		one.rate = got.result.PerSecond // none is processed
		return one, errors.Join(err, s.lab.Exec(ctx, lab.ProductDatabase, "TRUNCATE inbox"))
	}}
}

// inboxLimit is how long the product may take to notice that Temporal is down.
const inboxLimit = 15 * time.Second

// awaitInbox sends until requests are accepted. A product that keeps answering 503 has no inbox.
func (s *suite) awaitInbox(ctx context.Context, node *lab.Node) error {
	deadline := time.Now().Add(inboxLimit)
	for {
		d := drive{nodes: []*lab.Node{node}, inInbox: true}
		d.Count, d.Connections = 10, 1
		got, err := s.drive(ctx, d)
		if err != nil {
			return err
		}
		if got.result.Spooled == d.Count && got.result.Latency.P99 < 100*time.Millisecond {
			return s.lab.Exec(ctx, lab.ProductDatabase, "TRUNCATE inbox")
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("with Temporal away the ingress still answers %v after %s", got.result.Statuses, inboxLimit)
		}
	}
}
