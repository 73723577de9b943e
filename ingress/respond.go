package ingress

import (
	"errors"
	"log/slog"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"holdfast/providers"
)

// acknowledgement is the body of every 2xx.
type acknowledgement struct {
	OK        bool                `json:"ok"`
	Queued    bool                `json:"queued"`
	Duplicate bool                `json:"duplicate,omitempty"`
	RequestID string              `json:"request_id"`
	Counts    *counts             `json:"counts,omitempty"`
	Events    []acknowledgedEvent `json:"events"`
}

// counts sum up a batch.
type counts struct {
	Accepted  int `json:"accepted"`
	Duplicate int `json:"duplicate"`
}

type acknowledgedEvent struct {
	WorkflowID string `json:"workflow_id"`
	EventID    string `json:"event_id"`
	Status     State  `json:"status"`
}

// acknowledge answers for events that are all durable now.
func (s *Server) acknowledge(c *fiber.Ctx, p *providers.Provider, started []Started, isBatch bool) error {
	o := observed(c)
	body := acknowledgement{OK: true, Queued: true, RequestID: o.requestID, Events: []acknowledgedEvent{}}
	var n counts
	for _, e := range started {
		if e.State == StateAccepted {
			n.Accepted++
		} else {
			n.Duplicate++
		}
		body.Events = append(body.Events, acknowledgedEvent{WorkflowID: e.WorkflowID, EventID: e.EventID, Status: e.State})
	}
	s.minute.events(s.now(), n.Accepted, n.Duplicate)
	if isBatch {
		body.Counts = &n
	}
	status := p.AckStatus()
	o.outcome, o.events = "accepted", len(started)
	if n.Accepted == 0 && n.Duplicate > 0 {
		status, o.outcome, body.Duplicate = p.Replies().Duplicate, "duplicate", true
	}
	return c.Status(status).JSON(body)
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
	return s.refuseWith(c, reason, refusals[reason].status)
}

func (s *Server) refuseWith(c *fiber.Ctx, reason code, status int) error {
	r := refusals[reason]
	var requestID string
	if o, ok := c.Locals(observationKey{}).(*observation); ok {
		requestID = o.requestID
		if o.reason == "" {
			o.reason = string(reason)
		}
	}
	if r.retryAfter > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(r.retryAfter))
	}
	if reason == codeMethodNotAllowed {
		c.Set(fiber.HeaderAllow, fiber.MethodPost)
	}
	return c.Status(status).JSON(refusalBody{refusalError{Code: reason, Message: r.message, RequestID: requestID}})
}

// refuseUnavailable asks for the request again, because it is authentic and not durable.
func (s *Server) refuseUnavailable(c *fiber.Ctx, err error) error {
	o := observed(c)
	o.failure = err.Error()
	slog.ErrorContext(o.ctx, "event.unavailable", "provider", o.provider, "request_id", o.requestID, "error", err.Error())
	return s.refuse(c, codeUnavailable)
}

// refuseUnauthenticated tells the operator the reason, and the sender only that there is one.
func (s *Server) refuseUnauthenticated(c *fiber.Ctx, p *providers.Provider, err error) error {
	o := observed(c)
	o.reason = "unclassified"
	var denied *providers.AuthError
	if errors.As(err, &denied) {
		o.reason = string(denied.Reason)
	}
	return s.refuseWith(c, codeUnauthenticated, p.Replies().Unauthentic)
}

// refuseError answers for errors of Fiber and fasthttp, most of them met while the request was read. Their own text can hold
// a piece of the request, so it goes nowhere.
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
