package httpapi

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

// SetCaller sets the caller of a request. The gate calls it after authentication.
func SetCaller(c *fiber.Ctx, who access.Caller) { c.Locals(callerKey, who) }

// CallerOf returns the caller of a request that has passed the gate.
func CallerOf(c *fiber.Ctx) access.Caller {
	who, _ := c.Locals(callerKey).(access.Caller)
	return who
}

// IsViewer reports whether the caller is limited to what viewers see: no raw bodies; no headers, query, path or root of a
// request; no state that a definition hides; no responses of endpoints, only the host of their URLs; no search in bodies; no
// reasons why definitions were rejected (console). Package access defines which routes a role may call.
func IsViewer(c *fiber.Ctx) bool { return !CallerOf(c).Role.Includes(access.RoleOperator) }

// Actor returns who makes a change with this request, and why.
func Actor(c *fiber.Ctx, reason string) oversight.Actor {
	who := CallerOf(c)
	return oversight.Actor{Name: who.Name, Role: string(who.Role), RequestID: RequestID(c), Reason: reason}
}

// RequestID returns the request's ID and creates a missing one: an unparsable request hasn't passed the middleware.
func RequestID(c *fiber.Ctx) string {
	if id := c.GetRespHeader(requestIDHeader); id != "" {
		return id
	}
	id := uuid.NewString()
	c.Set(requestIDHeader, id)
	return id
}
