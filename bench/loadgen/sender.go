package loadgen

import (
	"context"
	"time"

	"github.com/valyala/fasthttp"

	"holdfast/internal/ledger"
)

// sender is one connection of a run.
type sender struct {
	*Generator
	request  *fasthttp.Request
	response *fasthttp.Response
}

func newSender(g *Generator) *sender {
	return &sender{Generator: g, request: &fasthttp.Request{}, response: &fasthttp.Response{}}
}

func (s *sender) run(ctx context.Context) error {
	for {
		i, due, ok := s.take(ctx)
		if !ok {
			return nil
		}
		a, err := s.send(i, due)
		if err != nil {
			return err
		}
		s.record.add(a)
		if a.status == ledger.NoAnswer && s.options.Rate == 0 && !wait(ctx, pauseAfterFailure) {
			return nil
		}
	}
}

// send sends request i, and records it before and after. The error is that it could not be made or recorded.
func (s *sender) send(i int64, due time.Time) (*answer, error) {
	kind, of := s.plan.decide(i)
	u, shape, err := s.plan.make(of)
	if err != nil {
		return nil, err
	}
	t := s.targets[i%int64(len(s.targets))]
	if err := s.prepare(t, shape, u, kind); err != nil {
		return nil, err
	}
	sent, err := s.note(i, kind, u.events)
	if err != nil {
		return nil, err
	}
	if s.options.Rate == 0 {
		due = sent
	}
	a := &answer{kind: kind, events: len(u.events)}
	if a.err = t.client.Do(s.request, s.response); a.err == nil {
		a.status, a.body = s.response.StatusCode(), s.response.Body()
	}
	a.at = time.Now()
	a.took = a.at.Sub(due)
	if s.options.Ledger != nil {
		err = s.options.Ledger.Answered(i, a.status, a.at.Sub(sent))
	}
	return a, err
}

// prepare signs a request and converts it to an HTTP request.
func (s *sender) prepare(t *target, shape *shape, u *unsent, kind ledger.Kind) error {
	authenticate := t.sign
	if kind == ledger.KindBadSignature {
		authenticate = t.forge
	}
	address, err := authenticate(shape.provider, u.request, time.Now())
	if err != nil {
		return err
	}
	s.request.Reset()
	s.request.Header.DisableNormalizing()
	s.request.Header.SetMethod(u.request.Method)
	s.request.SetRequestURI(address)
	for name, values := range u.request.Header {
		s.request.Header.Set(name, values[0])
	}
	s.request.SetBodyRaw(u.request.Body)
	return nil
}
