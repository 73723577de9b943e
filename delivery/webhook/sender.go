package webhook

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"time"

	"holdfast/delivery"
)

// SenderOptions configure a Sender.
type SenderOptions struct {
	// AllowedNetworks are allowed although they aren't public, for internal endpoints.
	AllowedNetworks []netip.Prefix
	// Certificates is the folder of certificate files; "" allows none.
	Certificates string
	// Version is appended to the user agent: "Holdfast/VERSION".
	Version string
}

// Sender makes attempts at HTTP endpoints. It is safe for concurrent use; a process needs only one.
type Sender struct {
	agent       string
	clients     *clients
	signers     *signers
	expressions *delivery.Expressions
	now         func() time.Time
}

// NewSender returns a sender.
func NewSender(o SenderOptions) *Sender {
	return newSender(o, newDialer(guard{allowed: o.AllowedNetworks}))
}

func newSender(o SenderOptions, dialer *net.Dialer) *Sender {
	s := &Sender{
		agent: "Holdfast", clients: newClients(dialer, o.Certificates), signers: newSigners(),
		expressions: delivery.NewExpressions(), now: time.Now,
	}
	if o.Version != "" {
		s.agent += "/" + o.Version
	}
	return s
}

// Build checks that an event can be turned into a body. It implements admin.Sender.
func (s *Sender) Build(ctx context.Context, t delivery.Target, m delivery.Message) error {
	_, _, err := s.body(ctx, t.Subscription, m)
	return err
}

// Send implements dispatch.Sender and admin.Sender. The context bounds the whole attempt.
func (s *Sender) Send(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) delivery.Result {
	at := s.now()
	result := s.attempt(ctx, t, j, m)
	result.At, result.Took = at, s.now().Sub(at)
	return result
}

func (s *Sender) attempt(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) delivery.Result {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	request, failed := s.request(ctx, t, j, m)
	if failed != nil {
		return *failed
	}
	client, err := s.clients.of(t.Destination.HTTP)
	if err != nil {
		return delivery.Result{Kind: delivery.Ours, Code: "tls_files", Error: err.Error()}
	}
	response, err := client.Do(request)
	if err != nil {
		return unanswered(failure(err))
	}
	defer func() { _ = response.Body.Close() }() // unread data doesn't matter
	result := classOf(response, s.now())
	if response.StatusCode != http.StatusSwitchingProtocols { // the rest isn't a response, and has no deadline
		result.Answer = readAnswer(response.Body, giveUp)
	}
	return result
}

// Close closes idle connections.
func (s *Sender) Close() { s.clients.close() }

// unanswered is the result without a response. DNS failures and private addresses are retried, because they may be temporary
// mistakes.
func unanswered(e *Error) delivery.Result {
	kind := delivery.Bad
	if e.Code == codeStopped {
		kind = delivery.Ours
	}
	return delivery.Result{Kind: kind, Code: e.Code, Error: e.Reason}
}
