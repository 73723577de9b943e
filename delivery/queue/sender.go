package queue

import (
	"context"
	"errors"
	"time"

	"holdfast/delivery"
	"holdfast/delivery/webhook"
)

// Sender makes attempts at queues. It is safe for concurrent use; a process needs only one.
type Sender struct {
	network     *webhook.Network
	expressions *delivery.Expressions
	links       *links
}

// NewSender returns a sender. It connects to nothing before the first attempt.
func NewSender(network *webhook.Network) *Sender {
	return &Sender{network: network, expressions: delivery.NewExpressions(), links: newLinks(idleAfter)}
}

// Build checks that an event can be turned into a message. It implements admin.Sender.
func (s *Sender) Build(ctx context.Context, t delivery.Target, m delivery.Message) error {
	_, err := s.build(ctx, t, delivery.Job{}, m)
	return err
}

// Send implements dispatch.Sender and admin.Sender. The context bounds the whole attempt.
func (s *Sender) Send(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) delivery.Result {
	at := time.Now()
	result := s.attempt(ctx, t, j, m)
	result.At, result.Took = at, time.Since(at)
	return result
}

func (s *Sender) attempt(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) delivery.Result {
	out, err := s.build(ctx, t, j, m)
	if _, ok := errors.AsType[*failed](err); ok {
		return resultOf(err, nil)
	}
	if err != nil {
		return delivery.BuildFailure("body_error", err)
	}
	var code string
	result := s.with(ctx, t, func(c client) (err error) {
		code, err = c.publish(ctx, out)
		return err
	})
	if result.Kind == delivery.OK {
		result.Code = code
	}
	return result
}

// with runs a call on the connection of a destination.
func (s *Sender) with(ctx context.Context, t delivery.Target, call func(client) error) delivery.Result {
	to := t.Destination.Link()
	way, misconfigured := s.network.Way(to)
	if misconfigured != nil {
		return *misconfigured
	}
	if to.Secrets != "" && len(t.Secrets) == 0 {
		return delivery.Result{
			Kind: delivery.Blocked, Code: "no_secret",
			Error: "the variable " + to.Secrets + " isn't set on this worker, or isn't on the list of variables that destinations may use",
		}
	}
	l, isNew, err := s.links.open(ctx, t, way)
	if err == nil {
		err = call(l.client)
		s.links.release(l, err)
	}
	if err == nil {
		return delivery.Result{Kind: delivery.OK, Reach: delivery.Reached, Proxy: way.Proxy, Connected: isNew}
	}
	result := resultOf(err, l.dialError())
	result.Proxy, result.Connected = way.Proxy, isNew && result.Reach == delivery.Reached
	return result
}

// Check examines the queue of a destination. It sends nothing.
func (s *Sender) Check(ctx context.Context, t delivery.Target) []delivery.Finding {
	var found []delivery.Finding
	result := s.with(ctx, t, func(c client) (err error) {
		found, err = c.check(ctx)
		return err
	})
	connected := delivery.Finding{About: "connection", OK: true, Text: "the broker accepts the connection"}
	if result.Kind != delivery.OK {
		connected = delivery.Finding{About: "connection", Text: result.Code + ": " + result.Error}
	}
	return append([]delivery.Finding{connected}, found...)
}

// Close closes all connections.
func (s *Sender) Close() { s.links.close() }
