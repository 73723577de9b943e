package exchange

import (
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event/oversight"
	"holdfast/operator/access"
)

const (
	callerKey       = "caller"
	requestIDHeader = "X-Request-Id"
)

// SetCaller says who makes this request: the gate does, once it knows.
func SetCaller(c *fiber.Ctx, who access.Caller) { c.Locals(callerKey, who) }

// CallerOf is who makes a request that has passed the gate.
func CallerOf(c *fiber.Ctx) access.Caller {
	who, _ := c.Locals(callerKey).(access.Caller)
	return who
}

// IsViewer says whether the caller sees no more than viewers do: no raw bodies, no state that a definition hides, no responses of
// endpoints, no search in bodies. Which routes a role may call is in package access.
func IsViewer(c *fiber.Ctx) bool { return !CallerOf(c).Role.Includes(access.RoleOperator) }

// Actor is who changes something by this request, and why.
func Actor(c *fiber.Ctx, reason string) oversight.Actor {
	who := CallerOf(c)
	return oversight.Actor{Name: who.Name, Role: string(who.Role), RequestID: RequestID(c), Reason: reason}
}

// RequestID is the id of the request, made where there is none yet: a request that could not be read has passed no
// middleware.
func RequestID(c *fiber.Ctx) string {
	if id := c.GetRespHeader(requestIDHeader); id != "" {
		return id
	}
	id := uuid.NewString()
	c.Set(requestIDHeader, id)
	return id
}
