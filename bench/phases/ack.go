package phases

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
)

// ack stops Temporal, measures the rate of the inbox, and starts Temporal again. It checks the accepted events in the inbox,
// row by row and byte by byte, and then drops them, since processing some hundred thousand events would take too long.
func ack(ctx context.Context, s *bench) error {
	return s.Serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		if err := s.Lab.StopTemporal(); err != nil {
			return err
		}
		err := s.withoutTemporal(ctx, node)
		return errors.Join(err, s.Lab.StartTemporal(ctx))
	})
}

func (s *bench) withoutTemporal(ctx context.Context, node *lab.Node) error {
	if err := s.awaitInbox(ctx, node); err != nil {
		return err
	}
	return s.WithPart(ctx, suite.PartHandler, func(handler *part) error {
		url, err := handler.Line()
		if err != nil {
			return err
		}
		const sideHandler, sideInbox = "minimal handler", "event into the inbox"
		t, err := s.Alternate(ctx, s.minimal(sideHandler, url), s.intoInbox(sideInbox, node))
		if err != nil {
			return err
		}
		s.Samples("durable ACKs / minimal handler", "", figures.AtLeast(0.7), t.Ratios(sideInbox, sideHandler, suite.RateOf))
		s.Samples("CPU of a durable ACK / of the minimal handler", "", nil, t.Ratios(sideInbox, sideHandler, suite.CPUOf))
		s.Samples("durable ACKs without Temporal", "/s", nil, t.Values(sideInbox, suite.RateOf))
		s.Samples("ACKs of the minimal handler", "/s", nil, t.Values(sideHandler, suite.RateOf))
		s.Samples("ACK p50 without Temporal", "ms", nil, t.Values(sideInbox, suite.P50Of))
		s.Samples("ACK p99 without Temporal", "ms", nil, t.Values(sideInbox, suite.P99Of))
		return nil
	})
}

// minimal returns a side that sends to the minimal handler.
func (s *bench) minimal(name, url string) side {
	return side{Name: name, Measure: func(ctx context.Context) (slice, error) {
		d := drive{}
		d.Targets, d.Duration = []string{url}, s.Lasting(suite.SliceTime)
		before := s.Lab.Meter.Sample()
		r, err := s.Send(ctx, d)
		if err == nil && (r.OK != r.Requests || r.OK == 0) {
			err = fmt.Errorf("the minimal handler has taken %d of %d requests: %v %s", r.OK, r.Requests, r.Statuses, r.FirstError)
		}
		if err != nil {
			return slice{}, err
		}
		_, used, err := s.Used(ctx, before, nil)
		delete(used, lab.LabelHoldfast)
		return slice{Rate: r.PerSecond, Cost: suite.Cost(used, r.OK)}, err
	}}
}

// intoInbox returns a side that sends to the product, which stores everything in the inbox.
func (s *bench) intoInbox(name string, node *lab.Node) side {
	return side{Name: name, Measure: func(ctx context.Context) (slice, error) {
		d := suite.Load(node, suite.Stripe)
		d.InInbox, d.Duration = true, s.Lasting(suite.SliceTime)
		got, err := s.Drive(ctx, d)
		if err == nil && got.Result.Spooled != got.Result.OK {
			err = fmt.Errorf("of %d events only %d went to the inbox", got.Result.OK, got.Result.Spooled)
		}
		one := suite.SliceOf(got)
		one.Rate = got.Result.PerSecond // none is processed
		return one, errors.Join(err, s.Lab.Exec(ctx, lab.ProductDatabase, "TRUNCATE inbox"))
	}}
}

// inboxLimit is how long the product may take to notice that Temporal is down.
const inboxLimit = 15 * time.Second

// awaitInbox sends until requests are accepted. A product that keeps answering 503 has no inbox.
func (s *bench) awaitInbox(ctx context.Context, node *lab.Node) error {
	deadline := time.Now().Add(inboxLimit)
	for {
		d := drive{Nodes: []*lab.Node{node}, InInbox: true}
		d.Count, d.Connections = 10, 1
		got, err := s.Drive(ctx, d)
		if err != nil {
			return err
		}
		if got.Result.Spooled == d.Count && got.Result.Latency.P99 < 100*time.Millisecond {
			return s.Lab.Exec(ctx, lab.ProductDatabase, "TRUNCATE inbox")
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("with Temporal away the ingress still answers %v after %s", got.Result.Statuses, inboxLimit)
		}
	}
}
