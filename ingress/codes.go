package ingress

import (
	"github.com/gofiber/fiber/v2"

	"holdfast/event/oversight"
	"holdfast/providers"
)

// code is the short, stable name of the reason for a refusal.
type code string

// The codes that senders can get. The refusals table maps each to its HTTP response.
const (
	codeMethodNotAllowed code = "method_not_allowed"
	codeNotFound         code = "not_found"
	codeUnknownProvider  code = "unknown_provider"
	codeRateLimited      code = "rate_limited"
	codeTooLarge         code = oversight.ReasonTooLarge
	codeEncoding         code = "encoding_not_supported"
	codeUnauthenticated  code = "unauthenticated"
	codeBadRequest       code = "bad_request"
	codeInvalid          code = "invalid_event"
	codeEventType        code = "event_type_violated"
	codeTimeout          code = "request_timeout"
	codeHeadersTooLarge  code = "headers_too_large"
	codeBodyMemory       code = "body_memory_full"
	codeUnavailable      code = "unavailable"
	codeInternal         code = "internal"
)

type refusal struct {
	status  int
	message string
	// retryAfter, in seconds, is sent if a retry can succeed.
	retryAfter int
}

var refusals = map[code]refusal{
	codeMethodNotAllowed: {status: fiber.StatusMethodNotAllowed, message: "webhooks are sent by POST"},
	codeNotFound:         {status: fiber.StatusNotFound, message: "no such path; webhooks go to /webhooks/{provider}"},
	codeUnknownProvider:  {status: fiber.StatusNotFound, message: "no provider of this name is defined"},
	codeRateLimited: {
		status:     fiber.StatusTooManyRequests,
		message:    "there are more requests than this provider may send; send it again later",
		retryAfter: 1,
	},
	codeTooLarge: {status: fiber.StatusRequestEntityTooLarge, message: "the body is larger than this provider may send"},
	codeEncoding: {
		status:  fiber.StatusUnsupportedMediaType,
		message: "compressed bodies are not accepted: the signature covers the bytes as sent",
	},
	codeUnauthenticated: {status: fiber.StatusUnauthorized, message: "the request could not be authenticated"},
	codeBadRequest:      {status: fiber.StatusBadRequest, message: "the request is not well-formed HTTP"},
	codeInvalid:         {status: fiber.StatusBadRequest, message: "an event does not have the form that is asked of it"},
	codeEventType:       {status: fiber.StatusUnprocessableEntity, message: "an event violates its declared type"},
	codeTimeout:         {status: fiber.StatusRequestTimeout, message: "the request did not arrive in time"},
	codeHeadersTooLarge: {status: fiber.StatusRequestHeaderFieldsTooLarge, message: "the request's headers are too large"},
	codeBodyMemory: {
		status:     fiber.StatusServiceUnavailable,
		message:    "too many large requests arrive at the moment; send it again later",
		retryAfter: 5,
	},
	codeUnavailable: {
		status:     fiber.StatusServiceUnavailable,
		message:    "the event could not be stored durably; send it again",
		retryAfter: 5,
	},
	codeInternal: {
		status:     fiber.StatusServiceUnavailable,
		message:    "the request could not be handled; send it again",
		retryAfter: 5,
	},
}

// statusOf returns the status of a refusal, unless the provider's definition overrides it. Loading a definition rejects a 2xx
// for events that weren't stored.
func (r code) statusOf(p *providers.Provider) int {
	if p == nil {
		return refusals[r].status
	}
	switch replies := p.Replies(); r {
	case codeUnauthenticated:
		return replies.Unauthentic
	case codeTooLarge:
		return replies.TooLarge
	case codeInvalid:
		return replies.Invalid
	case codeRateLimited:
		return replies.RateLimited
	case codeUnavailable, codeInternal, codeBodyMemory:
		return replies.Unavailable
	default:
		return refusals[r].status
	}
}
