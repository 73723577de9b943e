package lint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/mapping"
	"holdfast/providers/reading"
	"holdfast/providers/receiving"
)

// Explanation says what would happen to a request, and why. Explaining has no effects.
type Explanation struct {
	Provider string `json:"provider"`
	// Authentic is set if one of the schemes accepts the request.
	Authentic bool `json:"authentic"`
	// Elsewhere is set if the path of its URL isn't one of the provider's.
	Elsewhere string `json:"elsewhere,omitempty"`
	// Refused is why the request would be refused; "" if it wouldn't.
	Refused denial.Reason `json:"refused,omitempty"`
	// Refusal is what was found, and what to do about it; nil if the request wouldn't be refused.
	Refusal *ExplainedRefusal `json:"refusal,omitempty"`
	// Scheme is the one that has accepted the request.
	Scheme string `json:"scheme,omitempty"`
	// Status is the status of the reply to the first delivery.
	Status int `json:"status"`
	// Challenge is set if the request is a handshake. Reply is then the answer.
	Challenge bool   `json:"challenge,omitempty"`
	Reply     string `json:"reply,omitempty"`
	// Events lists the events of the request, in its order.
	Events []ExplainedEvent `json:"events"`
}

// The reasons for a refusal that don't concern authenticity.
const (
	ReasonTooLarge denial.Reason = "body_too_large"
	ReasonEncoding denial.Reason = "encoding_not_supported"
	ReasonNotGzip  denial.Reason = "bad_request"
	ReasonDeadline denial.Reason = "jq_deadline"
	ReasonInvalid  denial.Reason = "invalid_event"
)

// causes explains the reasons above.
var causes = map[denial.Reason]denial.Cause{
	ReasonEncoding: {
		Means: "the body is compressed in a way that the definition doesn't accept",
		Next:  "turn compression off, or add gzip to the definition if the provider sends that",
	},
	ReasonNotGzip: {
		Means: "the body isn't complete, valid gzip", Next: "check what a proxy in between does to the body",
	},
	ReasonTooLarge: {
		Means: "the body is larger than the definition lets it be",
		Next:  "set `body_limit: 5242880` (5 MiB; 25 MiB at most) in the definition, or have less sent at once",
	},
	ReasonInvalid: {
		Means: "a condition under refuse in the definition holds for one of its events",
		Next:  "correct what is sent, or the condition",
	},
	ReasonDeadline: {
		Means: "the expressions of the definition took too long for this body", Next: "make type, source and key cheaper to find",
	},
}

// ExplainedRefusal is why a request would be refused.
type ExplainedRefusal struct {
	Means string `json:"means"`
	Next  string `json:"next"`
	// Scheme is the one that got furthest, and Detail what it found, without a value of the request.
	Scheme string `json:"scheme,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Otherwise is the result if the secret weren't well known or guessable.
	Otherwise string `json:"otherwise,omitempty"`
	// Tried are the other forms of the request for which its signature is invalid, too.
	Tried []string `json:"tried,omitempty"`
}

// ExplainedEvent says what happens to one event.
type ExplainedEvent struct {
	WorkflowID string `json:"workflow_id"`
	// Part is the number of the event among Parts that were cut from one, because of batch.parts; absent if it is whole.
	Part    int             `json:"part,omitempty"`
	Parts   int             `json:"parts,omitempty"`
	Key     string          `json:"key"`
	KeyFrom event.KeyOrigin `json:"key_from"`
	// OfValue means that the key contains the hash of the body's JSON value, not of its bytes.
	OfValue bool `json:"key_of_value,omitempty"`
	// Certainty is certain or guessed, or "" if the definition doesn't state it.
	Certainty string `json:"certainty,omitempty"`
	// InDoubt is what happens if an event with equal content arrived before: accept or hold; "" unless the key is guessed.
	InDoubt string `json:"in_doubt,omitempty"`
	// KeyParts are the expressions of the key with their results.
	KeyParts []mapping.ExplainedPart `json:"key_parts,omitempty"`
	Type     string                  `json:"type"`
	Source   string                  `json:"source,omitempty"`
	// Rules is the field with the rules for this type: "overrides[2]", or "" for the definition's own.
	Rules string `json:"rules,omitempty"`
	// Priority and Lane are what the ingress chose; "" for a stored event.
	Priority     event.Priority  `json:"priority,omitempty"`
	Lane         definition.Lane `json:"lane,omitempty"`
	DedupeWindow event.Duration  `json:"dedupe_window"`
	OccurredAt   time.Time       `json:"occurred_at"`
	// OccurredFrom is the expression of the time, with the unit; "" if the event has the time of its receipt.
	OccurredFrom string         `json:"occurred_from,omitempty"`
	Outcome      event.Outcome  `json:"outcome,omitempty"`
	Changes      []event.Change `json:"changes,omitempty"`
	// Entities are the rules for entities of this type, with what each of them found.
	Entities []mapping.ExplainedRule `json:"entities,omitempty"`
	// Unmapped means that rules for entities are meant for the event, and all of them gave nothing.
	Unmapped bool         `json:"unmapped,omitempty"`
	Policy   event.Policy `json:"policy"`
	// Question says how a sender that waits for an answer gets it.
	Question *ExplainedQuestion `json:"question,omitempty"`
	// DeadLetter is why the event would become a dead letter.
	DeadLetter *ExplainedFailure `json:"dead_letter,omitempty"`

	// times are the expressions for the time with their values.
	times []mapping.ExplainedTime
}

// ExplainedQuestion is a question with its answer if no handler gives one.
type ExplainedQuestion struct {
	Handler  string         `json:"handler,omitempty"`
	Deadline event.Duration `json:"deadline"`
	Status   int            `json:"status"`
	Fallback string         `json:"fallback"`
}

// ExplainedFailure is why an event can't be parsed.
type ExplainedFailure struct {
	Class   event.Class `json:"class"`
	Code    string      `json:"code"`
	Message string      `json:"message"`
}

// Explain does to a request what the ingress and the parse step would do. Of the limits it applies only the definition's.
func Explain(p *providers.Provider, r *auth.Request, now time.Time) Explanation {
	e := Explanation{Provider: p.Name(), Elsewhere: elsewhere(p, r), Events: []ExplainedEvent{}}
	if len(r.Body) > trialOf(p).BodyLimit(0) {
		return e.refused(ReasonTooLarge, p.Replies().TooLarge)
	}
	defer func(asSent []byte) { r.Body = asSent }(r.Body)
	packed, ok := p.Packed(r.Header["content-encoding"])
	if !ok {
		return e.refused(ReasonEncoding, http.StatusUnsupportedMediaType)
	}
	if packed && p.SignsPlain() {
		if why := unpack(p, r); why != "" {
			return e.refused(why, http.StatusBadRequest)
		}
	}
	if reply, isOne, err := p.Handshake(r, now); isOne && err == nil {
		e.Challenge, e.Status, e.Reply = true, reply.Status, string(reply.Body)
		return e
	}
	if err := p.Authenticate(r, now); err != nil {
		return e.unauthentic(p, r, now, err)
	}
	e.Authentic, e.Scheme = true, p.Passed(r)
	receiving.QueryAsBody(r)
	if packed && !p.SignsPlain() {
		if why := unpack(p, r); why != "" {
			return e.refused(why, http.StatusBadRequest)
		}
	}
	if reply, ok := p.Challenge(r, now); ok {
		e.Challenge, e.Status, e.Reply = true, reply.Status, string(reply.Body)
		return e
	}
	items, err := p.Split(r)
	if err != nil {
		return e.refused(ReasonDeadline, http.StatusServiceUnavailable)
	}
	if why := reading.RefusedFor(items); why != "" {
		e = e.refused(ReasonInvalid, p.Replies().Invalid)
		e.Refusal.Detail = why
		return e
	}
	e.Status = p.Replies().Accepted
	for i := range items {
		one, _ := explain(p, &items[i], r.Covered(), now)
		if one.Question != nil {
			e.Status = one.Question.Status
		}
		e.Events = append(e.Events, one)
	}
	return e
}

// unpack decompresses the body as the ingress does, and returns why it can't.
func unpack(p *providers.Provider, r *auth.Request) denial.Reason {
	plain, err := decode.Gunzip(context.Background(), r.Body, trialOf(p).BodyLimit(0), func(int) bool { return true })
	switch {
	case errors.Is(err, decode.ErrUnpackedTooLarge):
		return ReasonTooLarge
	case err != nil:
		return ReasonNotGzip
	}
	r.Body = plain
	return ""
}

func (e Explanation) refused(why denial.Reason, status int) Explanation {
	e.Refused, e.Status = why, status
	e.Refusal = &ExplainedRefusal{Means: causes[why].Means, Next: causes[why].Next}
	return e
}

// unauthentic examines what was wrong without a time limit, because no sender waits for the answer.
func (e Explanation) unauthentic(p *providers.Provider, r *auth.Request, now time.Time, err error) Explanation {
	found := &denial.Error{Reason: denial.ReasonOf(err)}
	if errors.As(err, &found) {
		found = p.Examine(r, now, found)
	}
	cause := found.Reason.Cause()
	e.Refused, e.Status = found.Reason, p.Replies().Unauthentic
	e.Refusal = &ExplainedRefusal{
		Means: cause.Means, Next: cause.Next, Scheme: found.Scheme, Detail: found.Detail(), Tried: found.Tried,
	}
	if found.Reason == denial.PlaceholderSecret || found.Reason == denial.ShortSecret {
		e.Refusal.Otherwise = otherwise(p, r, now)
	}
	return e
}

// otherwise retries with an unusable secret admitted.
func otherwise(p *providers.Provider, r *auth.Request, now time.Time) string {
	other := *r
	err := p.AdmittingAny().Authenticate(&other, now)
	if err == nil {
		return "the request is right for this secret: take a better one at both ends"
	}
	return "the request would be refused all the same: " + string(denial.ReasonOf(err))
}

// elsewhere reports that a request arrived at none of the provider's paths: a proxy may have rewritten its URL. It is explained
// as if it had arrived at one.
func elsewhere(p *providers.Provider, r *auth.Request) string {
	u, err := url.Parse(r.URL)
	if err != nil || u.Path == "" || u.Path == "/" || p.HasPath(u.EscapedPath()) {
		return ""
	}
	return fmt.Sprintf("the path %s is none of %s, which has: %s; explained as if a proxy had rewritten it", u.EscapedPath(),
		p.Name(), strings.Join(p.Paths(), " "))
}

// explain also returns the fields of the expressions that have failed silently.
func explain(
	p *providers.Provider, item *reading.Item, proven auth.Coverage, now time.Time,
) (e ExplainedEvent, silent []string) {
	e = ExplainedEvent{
		WorkflowID: event.WorkflowID(p.Name(), item.Key), Part: item.Part, Parts: item.Parts,
		Key: item.Key, KeyFrom: item.KeyFrom, OfValue: item.OfValue,
		Type: item.Type, Source: item.Source, Priority: item.Priority, Lane: laneOf(item), DedupeWindow: item.DedupeWindow,
		Policy: p.Policy(item.Type), OccurredAt: now.UTC(),
	}
	if q, ok := p.Question(item.Type); ok {
		answer, err := q.Fallback(item.Receipt, item.Body)
		e.Question = &ExplainedQuestion{
			Handler: q.Handler, Deadline: q.Deadline, Status: q.Status, Fallback: string(answer.Body),
		}
		e.DeadLetter = failureOf(err)
	}
	receipt := item.Receipt
	receipt.ReceivedAt = now
	trace, err := p.Trace(receipt, item.Body, proven)
	e.Rules, e.KeyParts, e.OccurredFrom, e.times = trace.Rules, trace.KeyParts, trace.OccurredFrom, trace.Times
	if e.OccurredFrom != "" {
		e.OccurredAt = trace.OccurredAt // also if the event can't be parsed
	}
	if err != nil {
		e.DeadLetter = failureOf(err)
		return e, nil
	}
	parsed, err := p.Parse(receipt, item.Body)
	if err != nil {
		e.DeadLetter = failureOf(err)
		return e, trace.Silent
	}
	if id := parsed.Identity; id != nil { // the definition has changed since
		e.Key, e.KeyFrom, e.DedupeWindow = id.Key, id.KeyFrom, id.DedupeWindow
		item.Certain, item.Content = id.Certain, id.Content
	}
	e.Certainty, e.InDoubt = certaintyOf(item, parsed.Repeats)
	e.OccurredAt, e.Outcome, e.Changes = parsed.OccurredAt, parsed.Outcome, parsed.Changes
	e.Entities, e.Unmapped = trace.Entities, parsed.Unmapped
	return e, trace.Silent
}

// certaintyOf returns how certain an event's key is, and what happens to an event that may repeat another one.
func certaintyOf(item *reading.Item, repeats *event.Repeats) (certainty, inDoubt string) {
	switch {
	case item.Certain:
		return "certain", ""
	case item.Content == "":
		return "", ""
	case repeats != nil && repeats.Hold:
		return guessed, "hold"
	}
	return guessed, "accept"
}

func laneOf(item *reading.Item) definition.Lane {
	if item.Bulk {
		return definition.LaneBulk
	}
	return definition.LaneWorkflow
}

// Text returns the message with the code, once.
func (f ExplainedFailure) Text() string {
	if strings.Contains(f.Message, f.Code) {
		return f.Message
	}
	return f.Message + " (" + f.Code + ")"
}

func failureOf(err error) *ExplainedFailure {
	if err == nil {
		return nil
	}
	return &ExplainedFailure{Class: event.ClassOf(err), Code: event.CodeOf(err), Message: err.Error()}
}
