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
	// AllowedNetworks are reached although they are not of the public internet: those of internal receivers.
	AllowedNetworks []netip.Prefix
	// Certificates is the folder with the files that destinations name; "" is none.
	Certificates string
	// Version stands in the user agent: "Holdfast/VERSION"; "" is none.
	Version string
}

// Sender makes attempts at HTTP endpoints. It is safe for concurrent use, and one serves a whole process.
type Sender struct {
	agent       string
	clients     *clients
	signers     *signers
	expressions *delivery.Expressions
	now         func() time.Time
}

// NewSender makes a sender.
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

// Build implements desk.Sender.
func (s *Sender) Build(ctx context.Context, t delivery.Target, m delivery.Message) error {
	_, _, err := s.body(ctx, t.Subscription, m)
	return err
}

// Send implements dispatch.Sender and desk.Sender. The context bounds the whole attempt.
func (s *Sender) Send(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) delivery.Result {
	at := s.now()
	result := s.attempt(ctx, t, j, m)
	result.At, result.Took = at, s.now().Sub(at)
	return result
}

func (s *Sender) attempt(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) delivery.Result {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	request, unmade := s.request(ctx, t, j, m)
	if unmade != nil {
		return *unmade
	}
	client, err := s.clients.of(t.Destination.HTTP)
	if err != nil {
		return delivery.Result{Kind: delivery.Ours, Code: "tls_files", Error: err.Error()}
	}
	response, err := client.Do(request)
	if err != nil {
		return unanswered(failure(err))
	}
	defer func() { _ = response.Body.Close() }() // what was not read does not matter
	result := classOf(response, s.now())
	if response.StatusCode != http.StatusSwitchingProtocols { // what follows that is no answer, and has no deadline
		result.Answer = readAnswer(response.Body, giveUp)
	}
	return result
}

// Close closes the connections that wait for another attempt.
func (s *Sender) Close() { s.clients.close() }

// unanswered is the result where nothing came back. A name that cannot be looked up and a private address are tried again: both
// may be a mistake of an hour.
func unanswered(e *Error) delivery.Result {
	kind := delivery.Bad
	if e.Code == codeStopped {
		kind = delivery.Ours
	}
	return delivery.Result{Kind: kind, Code: e.Code, Error: e.Reason}
}
