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
	// Client and Namespace are Holdfast's own; profile "" stands for them. The Sender doesn't close the client.
	Client    client.Client
	Namespace string
	// ConfigFile holds the profiles; "" means the default location of Temporal's tools.
	ConfigFile string
	// EventsURL is the prefix of event URLs, used as a reference to events that are too large for Temporal; "" means "/events/".
	EventsURL string
	Reserved  Reserved
	// Logger receives the log of the profiles' clients; nil drops it.
	Logger log.Logger
}

// Sender makes attempts at task queues. It is safe for concurrent use; a process needs only one.
type Sender struct {
	profiles    *profiles
	expressions *delivery.Expressions
	eventsURL   string
	reserved    Reserved
}

// NewSender returns a sender. It reads profiles and connects on first use.
func NewSender(o Options) *Sender {
	if o.EventsURL == "" {
		o.EventsURL = "/events/"
	}
	return &Sender{profiles: newProfiles(o), expressions: delivery.NewExpressions(), eventsURL: o.EventsURL, reserved: o.Reserved}
}

// Close closes the connections of profiles.
func (s *Sender) Close() { s.profiles.close() }

// Build checks that an event can be turned into a request. It implements admin.Sender.
func (s *Sender) Build(ctx context.Context, t delivery.Target, m delivery.Message) error {
	_, err := s.requestOf(ctx, t, delivery.Job{Key: delivery.Key{EventID: m.Receipt.ID}}, m)
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
	to, err := s.profiles.of(t.Destination.Temporal.Profile)
	if err != nil {
		return delivery.Result{Kind: delivery.Blocked, Code: "profile", Error: err.Error()}
	}
	o, err := s.requestOf(ctx, t, j, m)
	if err != nil {
		return buildFailure(err)
	}
	if refused := s.guard(ctx, to, o); refused != nil {
		return *refused
	}
	if err := to.encode(ctx, o); err != nil {
		return delivery.Result{Kind: delivery.Bad, Code: "codec", Error: "the codec of the profile failed to encode"}
	}
	attempt := attempt{link: to, request: o, retry: j.Attempts+j.Tries > 0}
	switch {
	case t.Subscription.Start != nil:
		return attempt.start(ctx)
	case t.Subscription.Signal != nil:
		return attempt.signal(ctx)
	default:
		return attempt.signalWithStart(ctx)
	}
}
