package ingress

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"holdfast/delivery/webhook"
	"holdfast/event"
	"holdfast/providers"
	"holdfast/providers/receiving"
)

// HandlerClient posts a question to its handler.
type HandlerClient interface {
	Post(ctx context.Context, url string, header http.Header, body []byte) (webhook.Answer, error)
}

// answer returns the reply to a question: the handler's if it comes in time, else the definition's own. It is called only once
// the event is durable. ok is false for events that aren't questions.
func (s *Server) answer(o *observation, p *providers.Provider, events []event.Received) (reply receiving.Reply, ok bool) {
	if len(events) != 1 {
		return reply, false
	}
	question, ok := p.Question(events[0].Type)
	if !ok {
		return reply, false
	}
	if reply, ok := s.ask(o, question, events[0]); ok {
		s.metrics.questionAnswered(o.ctx, p.Name(), "handler")
		return reply, true
	}
	reply, err := question.Fallback(events[0].Receipt, events[0].Body)
	if err != nil {
		s.metrics.questionAnswered(o.ctx, p.Name(), "nobody")
		slog.ErrorContext(o.ctx, "question.unanswered", "provider", p.Name(), "event_id", events[0].ID,
			"request_id", o.requestID, "error", err.Error())
		return reply, false
	}
	s.metrics.questionAnswered(o.ctx, p.Name(), "fallback")
	return reply, true
}

// ask gives the handler the rest of the question's deadline. Only a 2xx with the question's content type is an answer.
func (s *Server) ask(o *observation, q *receiving.Question, e event.Received) (reply receiving.Reply, ok bool) {
	if q.Handler == "" || s.HandlerURL == nil {
		return reply, false
	}
	url := s.HandlerURL(q.Handler)
	if url == "" {
		return reply, false
	}
	ctx, cancel := context.WithTimeout(o.ctx, time.Duration(q.Deadline)-s.now().Sub(o.receivedAt))
	defer cancel()
	answer, err := s.Questions.Post(ctx, url, handlerHeader(o, e.Receipt), e.Body)
	if err == nil && answer.Status >= 200 && answer.Status < 300 {
		if reply, ok = q.Answer(answer.Body); ok {
			return reply, true
		}
	}
	reason := "the handler's answer is no 2xx, or not of the question's content type"
	if err != nil {
		reason = err.Error()
	}
	slog.WarnContext(o.ctx, "question.fallback", "provider", e.Provider, "event_id", e.ID, "request_id", o.requestID,
		"status", answer.Status, "error", reason)
	return reply, false
}

func handlerHeader(o *observation, r event.Receipt) http.Header {
	return http.Header{
		"Content-Type":      {r.Headers["content-type"]},
		headerRequestID:     {o.requestID},
		headerCorrelationID: {o.correlationID},
		"Holdfast-Event-Id": {r.ID},
	}
}
