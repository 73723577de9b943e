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
	"holdfast/ingress/intake"
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

func splitMessage(p *providers.Provider, m queues.Message) ([]reading.Item, error) {
	request := &auth.Request{Method: "POST", Header: m.Header, Body: m.Body}
	if len(m.Body) > event.MaxBody { // it would block those behind it
		return p.CutQueued(request, m.Position), nil
	}
	if m.Unsplit {
		return p.UnreadQueued(request, m.Position), nil
	}
	items, err := p.SplitQueued(request, m.Position)
	if err != nil {
		return nil, &queues.SplitError{Cause: err}
	}
	return items, nil
}

func (s *Server) beginMessage(p *providers.Provider, m queues.Message) *observation {
	o := &observation{
		ctx: context.Background(), receivedAt: s.now(), provider: p.Name(), definition: p, outcome: "retried",
		requestID: validID([]byte(url.Values(m.Header).Get(strings.ToLower(headerRequestID)))),
	}
	o.requestID = cmp.Or(o.requestID, uuid.Must(uuid.NewV7()).String())
	o.correlationID = cmp.Or(validID([]byte(url.Values(m.Header).Get(strings.ToLower(headerCorrelationID)))), o.requestID)
	return o
}

// outcomeOf counts the events, and returns what became of them as a whole.
func (s *Server) outcomeOf(started []runs.Started) string {
	accepted, conflict := 0, false
	for _, e := range started {
		if intake.IsNew(e.State) {
			accepted++
		}
		conflict = conflict || e.Conflict != nil
	}
	s.lastMinute.events(s.now(), accepted, len(started)-accepted)
	switch {
	case conflict:
		return "conflict"
	case len(started) == 0:
		return "ignored"
	case accepted == 0:
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
