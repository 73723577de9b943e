package providers

import (
	"context"
	"net/http"
	"time"

	"holdfast/event"
)

// Explanation says what would happen to a request, and why. Nothing happens.
type Explanation struct {
	Provider string `json:"provider"`
	// Refused says why the request would be refused; "" if it would not.
	Refused Reason `json:"refused,omitempty"`
	// Scheme is the one that has accepted the request.
	Scheme string `json:"scheme,omitempty"`
	// Status is that of the reply to the first delivery.
	Status int `json:"status"`
	// Challenge is set if the request is a handshake, and Reply is then what it is answered with.
	Challenge bool   `json:"challenge,omitempty"`
	Reply     string `json:"reply,omitempty"`
	// Events are those of the request, in its order.
	Events []ExplainedEvent `json:"events"`
}

// The reasons for a refusal that have nothing to do with authenticity.
const (
	ReasonTooLarge Reason = "body_too_large"
	ReasonDeadline Reason = "jq_deadline"
)

// ExplainedEvent says what becomes of one event.
type ExplainedEvent struct {
	WorkflowID string          `json:"workflow_id"`
	Key        string          `json:"key"`
	KeyFrom    event.KeyOrigin `json:"key_from"`
	// KeyParts are the expressions of the key with what each gave.
	KeyParts []ExplainedPart `json:"key_parts,omitempty"`
	Type     string          `json:"type"`
	Source   string          `json:"source,omitempty"`
	// Rules is where the rules for this type stand: "overrides[2]", or "" for the definition's own.
	Rules        string         `json:"rules,omitempty"`
	Priority     event.Priority `json:"priority"`
	Lane         Lane           `json:"lane"`
	DedupeWindow event.Duration `json:"dedupe_window"`
	OccurredAt   time.Time      `json:"occurred_at"`
	// OccurredFrom is the expression that gave the time, with the unit; "" if the time is that of the receipt.
	OccurredFrom string         `json:"occurred_from,omitempty"`
	Outcome      event.Outcome  `json:"outcome,omitempty"`
	Changes      []event.Change `json:"changes,omitempty"`
	Policy       event.Policy   `json:"policy"`
	// Question says how a sender that waits for an answer gets it.
	Question *ExplainedQuestion `json:"question,omitempty"`
	// DeadLetter says why the event would become one.
	DeadLetter *ExplainedFailure `json:"dead_letter,omitempty"`
}

// ExplainedPart is one expression of a key.
type ExplainedPart struct {
	Field string `json:"field"`
	Expr  string `json:"expr"`
	// Value is "" where the expression gave nothing.
	Value    string `json:"value"`
	Optional bool   `json:"optional,omitempty"`
	Failed   bool   `json:"failed,omitempty"`
}

// ExplainedQuestion is a question with its answer where no handler gives one.
type ExplainedQuestion struct {
	Handler  string         `json:"handler,omitempty"`
	Deadline event.Duration `json:"deadline"`
	Status   int            `json:"status"`
	Fallback string         `json:"fallback"`
}

// ExplainedFailure is why an event cannot be parsed.
type ExplainedFailure struct {
	Class   event.Class `json:"class"`
	Code    string      `json:"code"`
	Message string      `json:"message"`
}

// Explain takes a request through what the ingress and the parse step would do with it. Of limits it knows those of the
// definition alone.
func (p *Provider) Explain(r *Request, now time.Time) Explanation {
	e := Explanation{Provider: p.name, Events: []ExplainedEvent{}}
	if p.bodyLimit > 0 && len(r.Body) > p.bodyLimit {
		return e.refused(ReasonTooLarge, p.replies.TooLarge)
	}
	if err := p.Authenticate(r, now); err != nil {
		return e.refused(reasonOf(err), p.replies.Unauthentic)
	}
	e.Scheme = p.describe(r.passed)
	if reply, ok := p.Challenge(r); ok {
		e.Challenge, e.Status, e.Reply = true, reply.Status, string(reply.Body)
		return e
	}
	items, err := p.Split(r)
	if err != nil {
		return e.refused(ReasonDeadline, http.StatusServiceUnavailable)
	}
	e.Status = p.replies.Accepted
	for i := range items {
		one := p.explain(&items[i], r.passed, now)
		if one.Question != nil {
			e.Status = one.Question.Status
		}
		e.Events = append(e.Events, one)
	}
	return e
}

func (e Explanation) refused(why Reason, status int) Explanation {
	e.Refused, e.Status = why, status
	return e
}

func (p *Provider) explain(item *Item, passed scheme, now time.Time) ExplainedEvent {
	field, rules := p.rulesAt(item.Type)
	e := ExplainedEvent{
		WorkflowID: event.WorkflowID(p.name, item.Key), Key: item.Key, KeyFrom: item.KeyFrom, Type: item.Type,
		Source: item.Source, Rules: field, Priority: item.Priority, Lane: item.Lane, DedupeWindow: item.DedupeWindow,
		Policy: rules.policy, OccurredAt: now.UTC(),
	}
	if e.Type == "" {
		e.Type = UnknownType
	}
	if q, ok := p.Question(item.Type); ok {
		answer, err := q.Fallback(p, item)
		e.Question = &ExplainedQuestion{
			Handler: q.Handler, Deadline: q.Deadline, Status: q.Status, Fallback: string(answer.Body),
		}
		e.DeadLetter = failureOf(err)
	}
	receipt := item.receipt(p.name, now)
	in, err := p.inputOf(receipt, item.Body)
	if err != nil {
		e.DeadLetter = failureOf(err)
		return e
	}
	ctx, cancel := context.WithTimeout(context.Background(), evaluationDeadline)
	defer cancel()
	e.KeyParts = p.explainKey(ctx, rules.key, in, passed)
	e.OccurredFrom = explainTime(ctx, rules.times, in, now)
	parsed, err := p.Parse(receipt, item.Body)
	if err != nil {
		e.DeadLetter = failureOf(err)
		return e
	}
	e.OccurredAt, e.Outcome, e.Changes = parsed.OccurredAt, parsed.Outcome, parsed.Changes
	return e
}

// receipt is the one that the ingress would make of the item, as far as the parse step reads it.
func (item *Item) receipt(provider string, now time.Time) event.Receipt {
	return event.Receipt{
		Provider: provider, Source: item.Source, Key: item.Key, KeyFrom: item.KeyFrom, DedupeWindow: item.DedupeWindow,
		Fingerprint: item.Fingerprint, Type: item.Type, Priority: item.Priority, ReceivedAt: now, Headers: item.Headers,
		Query: item.Query, Path: item.Path, Root: item.Root,
	}
}

func failureOf(err error) *ExplainedFailure {
	if err == nil {
		return nil
	}
	return &ExplainedFailure{Class: event.ClassOf(err), Code: event.CodeOf(err), Message: err.Error()}
}

func (p *Provider) explainKey(ctx context.Context, k *keyRule, in input, passed scheme) []ExplainedPart {
	if k == nil {
		return nil
	}
	if !k.unsigned {
		in = p.covered(in, passed)
	}
	var parts []ExplainedPart
	for _, part := range k.parts {
		v, err := part.expr.first(ctx, in, nil)
		value, _ := text(v)
		parts = append(parts, ExplainedPart{
			Field: part.expr.field, Expr: string(part.expr.source), Value: value, Optional: part.optional, Failed: err != nil,
		})
	}
	return parts
}

// explainTime names the expression that gives the time, and the unit that it is in.
func explainTime(ctx context.Context, times []timeRule, in input, now time.Time) string {
	for _, rule := range times {
		for _, unit := range rule.units {
			one := []timeRule{{expr: rule.expr, units: []string{unit}}}
			if _, found, err := occurredAt(ctx, one, in, now); err == nil && found {
				return string(rule.expr.source) + " (" + unit + ")"
			}
		}
	}
	return ""
}
