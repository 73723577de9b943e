package operator

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/gofiber/fiber/v2"
)

// failures are the codes of errors and what they say, by HTTP status. The text of an error itself is never shown.
var failures = map[int]struct{ code, message string }{
	fiber.StatusBadRequest:                  {"bad_request", "The request could not be read."},
	fiber.StatusNotFound:                    {"not_found", "There is nothing here. GET / lists what there is."},
	fiber.StatusMethodNotAllowed:            {"method_not_allowed", "This path does not take that method."},
	fiber.StatusRequestTimeout:              {"timeout", "The request did not arrive in time."},
	fiber.StatusRequestEntityTooLarge:       {"too_large", "The body is too large."},
	fiber.StatusRequestHeaderFieldsTooLarge: {"headers_too_large", "The headers are too large."},
	fiber.StatusInternalServerError:         {"internal", "Something went wrong here. The log has it under this request id."},
	fiber.StatusServiceUnavailable:          {"unavailable", "This cannot be answered now. Try again."},
}

// fail answers with {"error":{"code","message","request_id"}}, also where Fiber could not read a request at all.
func (s *Server) fail(c *fiber.Ctx, err error) error {
	status := fiber.StatusInternalServerError
	var known *fiber.Error
	if errors.As(err, &known) {
		status = known.Code
	}
	failure, ok := failures[status]
	if !ok {
		status = fiber.StatusInternalServerError
		failure = failures[status]
	}
	id := requestID(c)
	if status == fiber.StatusInternalServerError {
		s.log.Error("operator.failed", "request_id", id, "path", c.Path(), "error", err)
	}
	setHeaders(c)
	return c.Status(status).JSON(fiber.Map{"error": fiber.Map{
		"code": failure.code, "message": failure.message, "request_id": id,
	}})
}

// recoverPanic turns a panic into an error: without it, fasthttp would end the process.
func (s *Server) recoverPanic(c *fiber.Ctx) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.log.Error("operator.panicked", "path", c.Path(), "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
			err = fiber.ErrInternalServerError
		}
	}()
	return c.Next()
}
