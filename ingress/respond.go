package ingress

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/ingress/intake"
	"holdfast/providers"
	"holdfast/providers/reading"
	"holdfast/workflows/runs"
)

// acknowledgement is the body of every 2xx.
type acknowledgement struct {
	OK        bool `json:"ok"`
	Queued    bool `json:"queued"`
	Duplicate bool `json:"duplicate,omitempty"`
	// Conflict means that an event's key belongs to an event with other content. If the key is certain, the event is accepted and
	// becomes a dead letter; otherwise it is dropped.
	Conflict  bool   `json:"conflict,omitempty"`
	RequestID string `json:"request_id"`
	// DurationMS is the time from the request's arrival to this answer.
	DurationMS int64               `json:"duration_ms"`
	Counts     *counts             `json:"counts,omitempty"`
	Events     []acknowledgedEvent `json:"events"`
}

type counts struct {
	Accepted  int `json:"accepted"`
	Duplicate int `json:"duplicate"`
}

type acknowledgedEvent struct {
	WorkflowID string `json:"workflow_id"`
	// EventID is missing for a duplicate of an event that is still in the inbox.
	EventID string `json:"event_id,omitempty"`
	// EventHash is a prefix of the SHA-256 of the event's bytes, in hex.
	EventHash string     `json:"event_hash"`
	Status    runs.State `json:"status"`
	// Outcome is the result of the earlier run, if it has one.
	Outcome event.Outcome `json:"outcome,omitempty"`
	// Cached is the result of that run, if Temporal still has it.
	Cached *cachedResult `json:"cached_result,omitempty"`
	// DeadLetterID is the number of the event's dead letter, including one that this redelivery has replayed.
	DeadLetterID int64 `json:"dead_letter_id,omitempty"`
	// Conflict means that the key belongs to an event with other content.
	Conflict bool `json:"conflict,omitempty"`
	// Warning says how the event violates its declared type, or that the type's version is deprecated.
	Warning string `json:"warning,omitempty"`
	// Rewritten means that the event is a duplicate whose body has other bytes, and is the same JSON value.
	Rewritten bool `json:"rewritten,omitempty"`
}

type cachedResult struct {
	Result      event.Outcome `json:"result"`
	ProcessedAt time.Time     `json:"processed_at"`
	// CorrelationID is the correlation ID of the request in which the event first arrived.
	CorrelationID string `json:"correlation_id,omitempty"`
}

func cachedOf(e runs.Started) *cachedResult {
	if e.State != runs.StateProcessed || e.Outcome == "" || e.ProcessedAt.IsZero() {
		return nil
	}
	return &cachedResult{
		Result: e.Outcome, ProcessedAt: e.ProcessedAt.UTC().Truncate(time.Millisecond), CorrelationID: e.CorrelationID,
	}
}

// countStates counts durable events, also for the last minute. Conflict means that the key of one belongs to another event.
func (s *Server) countStates(started []runs.Started) (n counts, conflict bool) {
	for _, e := range started {
		if intake.IsNew(e.State) {
			n.Accepted++
		} else {
			n.Duplicate++
		}
		conflict = conflict || e.Conflict != nil
	}
	s.lastMinute.events(s.now(), n.Accepted, n.Duplicate)
	return n, conflict
}

// acknowledge answers for events that are all durable. Each has a warning, which may be "".
func (s *Server) acknowledge(c *fiber.Ctx, items []reading.Item, started []runs.Started, warnings []string) error {
	o := observed(c)
	body := acknowledgement{
		OK: true, Queued: true, RequestID: o.requestID, Events: []acknowledgedEvent{},
		DurationMS: s.now().Sub(o.receivedAt).Milliseconds(),
	}
	n, conflict := s.countStates(started)
	body.Conflict = conflict
	for i, e := range started {
		body.Events = append(body.Events, acknowledgedEvent{
			WorkflowID: e.WorkflowID, EventID: e.EventID, EventHash: eventHash(items[i].Body), Status: e.State, Outcome: e.Outcome,
			Conflict: e.Conflict != nil, Cached: cachedOf(e), DeadLetterID: e.DeadLetterID, Rewritten: e.Rewritten,
			Warning: warnings[i],
		})
	}
	if isBatch(items) {
		body.Counts = &n
	}
	status := o.definition.Replies().Accepted
	o.outcome, o.events = "accepted", len(started)
	if n.Accepted == 0 && n.Duplicate > 0 {
		status, o.outcome, body.Duplicate = o.definition.Replies().Duplicate, "duplicate", true
	}
	if body.Conflict {
		o.outcome = "conflict"
	}
	defaultBody, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return sendReply(c, o.definition.Acknowledge(status, defaultBody))
}

// hashLength is in hex digits: enough to distinguish events by eye.
const hashLength = 12

func eventHash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:hashLength/2])
}

// refusalBody is the body of every answer that is not a 2xx.
type refusalBody struct {
	Error refusalError `json:"error"`
}

type refusalError struct {
	Code      code   `json:"code"`
	Message   string `json:"message"`
	RequestID string `json:"request_id"`
}

func (s *Server) refuse(c *fiber.Ctx, reason code) error {
	return s.refuseSaying(c, reason, refusals[reason].message)
}

func (s *Server) refuseSaying(c *fiber.Ctx, reason code, message string) error {
	r := refusals[reason]
	var requestID string
	var provider *providers.Provider
	if o, ok := c.Locals(observationKey{}).(*observation); ok {
		requestID, provider, o.code = o.requestID, o.definition, reason
		if o.reason == "" {
			o.reason = string(reason)
		}
	}
	if r.retryAfter > 0 && c.GetRespHeader(fiber.HeaderRetryAfter) == "" {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(r.retryAfter))
	}
	if reason == codeMethodNotAllowed {
		c.Set(fiber.HeaderAllow, fiber.MethodPost)
	}
	body := refusalBody{refusalError{Code: reason, Message: message, RequestID: requestID}}
	return c.Status(reason.statusOf(provider)).JSON(body)
}

// refuseUnavailable asks for a retry: the request is authentic, but not durable.
func (s *Server) refuseUnavailable(c *fiber.Ctx, err error) error {
	observed(c).failure = err.Error()
	return s.refuse(c, codeUnavailable)
}

// refuseUnauthenticated gives the reason to operators only. All senders get the same answer, so that an attacker can't find out
// how close a forged signature is.
func (s *Server) refuseUnauthenticated(c *fiber.Ctx, err error) error {
	o := observed(c)
	o.reason = "unclassified"
	if errors.As(err, &o.denied) {
		o.reason = string(o.denied.Reason)
	}
	if o.denied != nil && o.denied.MayBeAuthentic() {
		return s.refuse(c, codeUnavailable)
	}
	return s.refuse(c, codeUnauthenticated)
}

// refuseLimited sends the time after which a retry can succeed.
func (s *Server) refuseLimited(c *fiber.Ctx, wait time.Duration) error {
	c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	return s.refuse(c, codeRateLimited)
}

// refuseUnreadable answers requests that couldn't be read completely or unambiguously, which never reach the handlers.
func (s *Server) refuseUnreadable(c *fiber.Ctx, err error) error {
	if c.Locals(observationKey{}) != nil {
		return s.refuseError(c, err) // it was read, and handling has reported it already
	}
	o := s.begin(c)
	if p, _, ok := s.Catalogue.ByPath(c.Path()); ok {
		o.provider, o.definition = p.Name(), p
	}
	err = s.refuseError(c, err)
	s.report(o, c.Response().StatusCode(), nil)
	return err
}

// refuseError answers for errors of Fiber and fasthttp, mostly from reading the request. Their text can contain a piece of the
// request, so it is dropped.
func (s *Server) refuseError(c *fiber.Ctx, err error) error {
	reason := codeInternal
	var e *fiber.Error
	if errors.As(err, &e) {
		switch e.Code {
		case fiber.StatusRequestEntityTooLarge:
			reason = codeTooLarge
		case fiber.StatusRequestHeaderFieldsTooLarge:
			reason = codeHeadersTooLarge
		case fiber.StatusRequestTimeout:
			reason = codeTimeout
		case fiber.StatusBadRequest:
			reason = codeBadRequest
		case fiber.StatusMethodNotAllowed:
			reason = codeMethodNotAllowed
		case fiber.StatusNotFound:
			reason = codeNotFound
		}
	}
	return s.refuse(c, reason)
}

// setSecurityHeaders keeps a browser from running, framing, sniffing or caching an answer. Strict-Transport-Security is left to
// the proxy that terminates TLS.
func setSecurityHeaders(c *fiber.Ctx) {
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	c.Set(fiber.HeaderCacheControl, "no-store")
}
