package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/loadgen"
)

const (
	ackTime = 4 * time.Second
	ackGoal = 10_000 // a second
	// ackDrained is how many events of the inbox are followed to their end.
	ackDrained = 500
	// handlerDatabase is where the minimal handler writes.
	handlerDatabase = "handler"
)

// ack takes Temporal away, measures what the inbox takes, and gives Temporal back. What was taken is looked for in the inbox,
// row by row and byte by byte; some hundred thousand events are then let go, since processing them takes as long as it takes,
// and the last hundreds are followed to their end.
func ack(ctx context.Context, s *suite) error {
	if err := s.lab.Postgres.CreateDatabase(ctx, handlerDatabase); err != nil {
		return err
	}
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		if err := s.lab.StopTemporal(); err != nil {
			return err
		}
		err := s.withoutTemporal(ctx, node)
		if err := errors.Join(err, s.lab.StartTemporal(ctx)); err != nil {
			return err
		}
		return s.drained(ctx, node)
	})
}

func (s *suite) withoutTemporal(ctx context.Context, node *lab.Node) error {
	if err := s.awaitInbox(ctx, node); err != nil {
		return err
	}
	handler, stop, err := s.startReceiver(ctx, partHandler, handlerDatabase)
	if err != nil {
		return err
	}
	type turn struct{ handler, product, p50, p99 float64 }
	var turns []turn
	for n := range s.rounds {
		base, err := s.load(ctx, handler)
		if err != nil {
			return errors.Join(err, stop())
		}
		d := drive{nodes: []*lab.Node{node}, inInbox: true}
		d.Duration = s.lasting(ackTime)
		if n == 0 {
			d.profile = s.phase.Name
		}
		got, err := s.drive(ctx, d)
		if err == nil && got.result.Spooled != got.result.OK {
			err = fmt.Errorf("of %d events only %d went to the inbox", got.result.OK, got.result.Spooled)
		}
		if err = errors.Join(err, s.lab.Exec(ctx, lab.ProductDatabase, "TRUNCATE inbox")); err != nil {
			return errors.Join(err, stop())
		}
		turns = append(turns, turn{base.PerSecond, got.result.PerSecond, milliseconds(got.result.Latency.P50),
			milliseconds(got.result.Latency.P99)})
		if n == 0 {
			s.charge("event into the inbox", got.used, got.result.OK)
		}
	}
	acks := each(turns, func(t turn) float64 { return t.product })
	s.figure("durable ACKs without Temporal", "/s", figures.AtLeast(ackGoal), acks...)
	s.perCeiling("durable ACKs without Temporal", ackGoal, acks...)
	s.figure("durable ACKs / minimal handler", "", figures.AtLeast(0.7),
		each(turns, func(t turn) float64 { return t.product / t.handler })...)
	s.figure("ACK p99 without Temporal", "ms", figures.AtMost(25), each(turns, func(t turn) float64 { return t.p99 })...)
	s.figure("ACK p50 without Temporal", "ms", nil, each(turns, func(t turn) float64 { return t.p50 })...)
	s.figure("ACKs of the minimal handler", "/s", nil, each(turns, func(t turn) float64 { return t.handler })...)
	return stop()
}

// load is what a receiver gets that is not ours.
func (s *suite) load(ctx context.Context, url string) (loadgen.Result, error) {
	d := drive{}
	d.Targets, d.Duration = []string{url}, s.lasting(ackTime)
	r, err := s.send(ctx, d)
	if err == nil && (r.OK != r.Requests || r.OK == 0) {
		err = fmt.Errorf("the minimal handler has taken %d of %d requests: %v %s", r.OK, r.Requests, r.Statuses, r.FirstError)
	}
	return r, err
}

// inboxLimit is how long the product may take to notice that Temporal is gone.
const inboxLimit = 15 * time.Second

// awaitInbox sends until requests are accepted. A product that answers 503 all the time has no inbox.
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

// drained sends into the inbox while Temporal is away again, and follows every event to its end.
func (s *suite) drained(ctx context.Context, node *lab.Node) error {
	if err := s.lab.StopTemporal(); err != nil {
		return err
	}
	started := make(chan error, 1)
	go func() {
		time.Sleep(s.lasting(2 * time.Second)) //nolint:forbidigo // an outage of a given length
		started <- s.lab.StartTemporal(ctx)
	}()
	d := drive{nodes: []*lab.Node{node}}
	d.Count = ackDrained
	got, err := s.drive(ctx, d)
	if err := errors.Join(err, <-started); err != nil {
		return err
	}
	s.figure("events of an outage, processed", "", nil, float64(got.report.Processed))
	return nil
}
