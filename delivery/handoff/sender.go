package handoff

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"holdfast/delivery"
)

// Options configure a Sender.
type Options struct {
	// Client and Namespace are Holdfast's own, which the profile "" stands for. The client stays its maker's to close.
	Client    client.Client
	Namespace string
	// ConfigFile holds the profiles; "" is where Temporal's own tools look.
	ConfigFile string
	// EventsURL is where an event is read, with its ID behind it: what is too large for Temporal is sent as a reference. "" means
	// the path on the operator port, "/events/".
	EventsURL string
	// Reserved is what no hand-off may use in Holdfast's own namespace.
	Reserved Reserved
	// Logger is for what the clients of profiles say; nil drops it.
	Logger log.Logger
}

// Sender makes attempts at task queues. It is safe for concurrent use, and one serves a whole process.
type Sender struct {
	profiles    *profiles
	expressions *delivery.Expressions
	eventsURL   string
	reserved    Reserved
}

// NewSender makes a sender. Profiles are read, and their clients made, when they are first used.
func NewSender(o Options) *Sender {
	if o.EventsURL == "" {
		o.EventsURL = "/events/"
	}
	return &Sender{profiles: newProfiles(o), expressions: delivery.NewExpressions(), eventsURL: o.EventsURL, reserved: o.Reserved}
}

// Close closes the clients of profiles.
func (s *Sender) Close() { s.profiles.close() }

// Build implements desk.Sender.
func (s *Sender) Build(ctx context.Context, t delivery.Target, m delivery.Message) error {
	_, err := s.orderOf(ctx, t, delivery.Job{Key: delivery.Key{EventID: m.Receipt.ID}}, m)
	return err
}

// Send implements dispatch.Sender and desk.Sender. The context bounds the whole attempt.
func (s *Sender) Send(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) delivery.Result {
	at := time.Now()
	result := s.attempt(ctx, t, j, m)
	result.At, result.Took = at, time.Since(at)
	return result
}

func (s *Sender) attempt(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) delivery.Result {
	to, err := s.profiles.of(t.Destination.Temporal.Profile)
	if err != nil {
		return delivery.Result{Kind: delivery.Ours, Code: "profile", Error: err.Error()}
	}
	o, err := s.orderOf(ctx, t, j, m)
	if err != nil {
		return unmade(err)
	}
	if refused := s.guard(ctx, to, o); refused != nil {
		return *refused
	}
	if err := to.encode(ctx, o); err != nil {
		return delivery.Result{Kind: delivery.Bad, Code: "codec", Error: "the codec of the profile does not encode"}
	}
	call := call{link: to, order: o, retry: j.Attempts+j.Tries > 0}
	switch {
	case t.Subscription.Start != nil:
		return call.start(ctx)
	case t.Subscription.Signal != nil:
		return call.signal(ctx)
	default:
		return call.signalWithStart(ctx)
	}
}
