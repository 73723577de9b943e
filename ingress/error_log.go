package ingress

import (
	"github.com/gofiber/fiber/v2"

	"holdfast/event"
)

// unknownProvider stands for a provider that does not exist: what strangers send never becomes a name.
const unknownProvider = "unknown"

// outcomeRefused is the outcome of every request that was not accepted.
const outcomeRefused = "refused"

// recordRefusal tells the error log why a request was refused. Of a request that was not authenticated the entry holds the
// provider's name and the reason, which are ours, and nothing that its sender has chosen.
func (s *Server) recordRefusal(o *observation, status int) {
	isOurFault := status >= fiber.StatusInternalServerError
	if s.Errors == nil || o.outcome != outcomeRefused || o.provider == unknownProvider && !isOurFault {
		return
	}
	e := event.ErrorEntry{
		At: o.receivedAt, Phase: event.PhaseReceive, Provider: o.provider,
		Class: event.ClassRejected, Code: o.reason, Message: "the request was refused",
	}
	if isOurFault {
		e.Class, e.Message = event.ClassTransient, "the request could not be handled"
	}
	if o.failure != "" {
		e.Message, e.Meta = o.failure, map[string]string{"request_id": o.requestID}
	}
	s.Errors.Record(e)
}
