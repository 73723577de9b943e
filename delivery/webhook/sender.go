package webhook

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"time"

	"holdfast/delivery"
	"holdfast/internal/proxy"
)

// SenderOptions configure a Sender.
type SenderOptions struct {
	// AllowedNetworks are allowed although they aren't public, for internal endpoints.
	AllowedNetworks []netip.Prefix
	// Certificates is the folder of certificate files; "" allows none.
	Certificates string
	Routes       Routes
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
		agent: "Holdfast", clients: newClients(dialer, o.Certificates, o.Routes), signers: newSigners(),
		expressions: delivery.NewExpressions(), now: time.Now,
	}
	if o.Version != "" {
		s.agent += "/" + o.Version
	}
	return s
}

// Build checks that an event can be turned into a body. It implements admin.Sender.
func (s *Sender) Build(ctx context.Context, t delivery.Target, m delivery.Message) error {
	_, err := s.expressions.Body(ctx, t.Subscription, m)
	return err
}

// Send implements dispatch.Sender and admin.Sender. The context bounds the whole attempt.
func (s *Sender) Send(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) delivery.Result {
	at := s.now()
	result := s.attempt(ctx, t, j, m)
	result.At, result.Took = at, s.now().Sub(at)
	return result
}

// attempt sends a request. If the endpoint was just closing the kept connection, it sends the request again on a new one.
func (s *Sender) attempt(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) delivery.Result {
	via, ok := s.clients.routes.of(t.Destination.HTTP.Proxy)
	if !ok {
		return *misconfigured(codeNoProxy, "this worker has no proxy called "+t.Destination.HTTP.Proxy+": add it to HOLDFAST_PROXIES")
	}
	result := s.attemptThrough(ctx, via, t, j, m)
	result.Proxy = nameOf(via)
	return result
}

func (s *Sender) attemptThrough(
	ctx context.Context, via *proxy.Proxy, t delivery.Target, j delivery.Job, m delivery.Message,
) delivery.Result {
	client, err := s.clients.of(t.Destination.HTTP, via)
	if err != nil {
		return delivery.Result{Kind: delivery.Blocked, Code: "tls_files", Error: err.Error()}
	}
	result, stale := s.try(ctx, client, t, j, m)
	if !stale {
		return result
	}
	result, _ = s.try(ctx, withoutReuse(client), t, j, m)
	result.Resent = true
	if result.Kind != delivery.OK && result.Error != "" {
		result.Error += " (sent twice: the first, kept connection was closed without an answer)"
	}
	return result
}

// try makes a request. stale reports that the endpoint was just closing a kept connection.
func (s *Sender) try(
	ctx context.Context, client *http.Client, t delivery.Target, j delivery.Job, m delivery.Message,
) (result delivery.Result, stale bool) {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	ctx, p := withProgress(ctx, t.Destination.HTTP.URL)
	request, failed := s.request(ctx, t, j, m)
	if failed != nil {
		return *failed, false
	}
	response, err := client.Transport.RoundTrip(request) // Client fails on a redirect whose target can't be read
	if err != nil {
		return s.unanswered(ctx, p, err)
	}
	defer func() { _ = response.Body.Close() }() // unread data doesn't matter
	result = classOf(response, s.now())
	result.Reach, result.Connected = delivery.Reached, p.connected()
	if response.StatusCode != http.StatusSwitchingProtocols { // the rest isn't a response, and has no deadline
		result.Answer = readAnswer(response, giveUp)
	}
	return result, false
}

// unanswered is the result without a response that could be read. Its status decides, if that was read. DNS failures and private
// addresses are retried, because they may be temporary mistakes. A proxy that can't be used says nothing about the endpoint.
func (s *Sender) unanswered(ctx context.Context, p *progress, err error) (result delivery.Result, stale bool) {
	if status := p.status(); status != 0 {
		result = classOf(&http.Response{StatusCode: status, Header: http.Header{}}, s.now())
		result.Reach, result.Connected = delivery.Reached, p.connected()
		return result, false
	}
	e := p.failure(err)
	result = delivery.Result{Kind: delivery.Bad, Code: e.Code, Error: e.Reason, Reach: p.reach(e), Connected: p.connected()}
	switch e.Code {
	case codeStopped, delivery.CodeProxy:
		result.Kind = delivery.Ours
	case codeRefused, codeExpired:
		result.Kind = delivery.Blocked
	}
	return result, p.wasStale(ctx, err)
}

// Close closes idle connections.
func (s *Sender) Close() { s.clients.close() }
