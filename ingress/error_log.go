package ingress

import (
	"github.com/gofiber/fiber/v2"

	"holdfast/event"
)

// recordRefusal tells the error log of a request that was answered with a 5xx. One that is refused for its sender's sake, as
// without a good signature, leaves no row behind: it is counted and logged only.
func (s *Server) recordRefusal(o *observation, status int) {
	if s.Errors == nil || status < fiber.StatusInternalServerError {
		return
	}
	e := event.ErrorEntry{
		At: o.receivedAt, Phase: event.PhaseReceive, Provider: o.provider,
		Class: event.ClassTransient, Code: o.reason, Message: "the request could not be handled",
	}
	if o.failure != "" {
		e.Message, e.Meta = o.failure, map[string]string{"request_id": o.requestID}
	}
	s.Errors.Record(e)
}
