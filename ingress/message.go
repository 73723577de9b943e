package ingress

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/ingress/queues"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/reading"
	"holdfast/workflows/runs"
)

// AcceptMessage makes the events of a message durable, in the same way as those of a request. A nil error means that they are
// committed, and that the broker may forget the message. The outcome is accepted, duplicate, conflict, or ignored: it has no
// event.
func (s *Server) AcceptMessage(ctx context.Context, m queues.Message) (outcome string, err error) {
	provider, ok := s.Catalogue.Lookup(m.Provider)
	if !ok {
		return "", fmt.Errorf("no definition has the name %s any more", m.Provider)
	}
	o := s.beginMessage(provider, m)
	s.startSpan(o, url.Values(m.Header).Get("traceparent"))
	defer func() { s.reportMessage(o, err) }()
	if o.turn, err = decode.Turn(ctx, len(m.Body)); err != nil {
		return "", err
	}
	defer o.endTurn()
	items, err := splitMessage(provider, m)
	o.endTurn()
	if err != nil {
		return "", err
	}
	events := o.received(items)
	started, err := s.Intake.Commit(o.ctx, events)
	if err != nil {
		return "", err
	}
	s.countEvents(o.ctx, provider, events, started)
	o.outcome, o.events = s.outcomeOf(started), len(started)
	return o.outcome, nil
}

// maxRedeliveries is how often a message is delivered again before it is committed unread: it may crash the process that reads
// it. It is less than what RabbitMQ allows a message of a quorum queue by default (20), before it drops it.
const maxRedeliveries = 10

func splitMessage(p *providers.Provider, m queues.Message) ([]reading.Item, error) {
	request := &auth.Request{Method: "POST", Header: m.Header, Body: m.Body}
	if len(m.Body) > event.MaxBody { // it would block those behind it
		return p.CutQueued(request, m.Position), nil
	}
	if m.Unsplit || m.Redeliveries > maxRedeliveries {
		return p.UnreadQueued(request, m.Position), nil
	}
	items, err := p.SplitQueued(request, m.Position)
	if err != nil {
		return nil, &queues.SplitError{Cause: err}
	}
	return items, nil
}

func (s *Server) beginMessage(p *providers.Provider, m queues.Message) *observation {
	idIn := func(header string) string { return validID([]byte(url.Values(m.Header).Get(strings.ToLower(header)))) }
	id := cmp.Or(idIn(headerRequestID), uuid.Must(uuid.NewV7()).String())
	return &observation{
		ctx: context.Background(), receivedAt: s.now(), provider: p.Name(), definition: p, outcome: "retried",
		requestID: id, correlationID: cmp.Or(idIn(headerCorrelationID), id),
	}
}

// outcomeOf counts the events, and returns what became of them as a whole.
func (s *Server) outcomeOf(started []runs.Started) string {
	n, conflict := s.countStates(started)
	switch {
	case conflict:
		return "conflict"
	case len(started) == 0:
		return "ignored"
	case n.Accepted == 0:
		return "duplicate"
	}
	return "accepted"
}

// reportMessage writes the line of an accepted message. One that couldn't be committed is tried again, and its queue reports it.
func (s *Server) reportMessage(o *observation, err error) {
	if err == nil {
		s.metrics.answered(o, s.now().Sub(o.receivedAt))
		o.writeLine(slog.LevelInfo, 0, s.now().Sub(o.receivedAt), 0)
	}
	o.endSpan(0)
}
