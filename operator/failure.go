package operator

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"holdfast/operator/guard"
	"holdfast/operator/httpapi"
)

// fail responds with {"error":{"code","message","request_id"}}, even if Fiber couldn't parse the request.
func (s *Server) fail(c *fiber.Ctx, err error) error {
	shown := httpapi.FailureOf(c, err)
	switch {
	case s.showsCauses:
		shown = shown.WithCause(err)
	case shown.Code == httpapi.CodeManyStreams: // this is normal, and refused clients keep retrying
		s.log.Info("operator.stream_refused", "request_id", shown.RequestID, "path", c.Path(), "error", err)
	case shown.Status >= fiber.StatusInternalServerError:
		s.log.Error("operator.failed", "request_id", shown.RequestID, "path", c.Path(), "error", err)
	}
	setHeaders(c)
	if shown.Status == fiber.StatusServiceUnavailable {
		httpapi.SetRetryAfter(c, time.Second)
	}
	if s.site.Owns(c.Path()) {
		failure := guard.FailureOf(c, err)
		if shown.Code == httpapi.CodeUnavailable {
			failure.Message = cmp.Or(s.outage(), failure.Message)
		}
		err := s.site.FailOn(c.Status(shown.Status), failure)
		if err == nil {
			return nil
		}
		s.log.Error("operator.failed", "request_id", shown.RequestID, "path", c.Path(), "error", err)
	}
	return c.Status(shown.Status).JSON(shown.Body())
}

// expect refuses a body that is too large before the client sends it, if the client waits for that. Otherwise the connection is
// closed while it still sends, and it may never read the response.
func (s *Server) expect(g *guard.Guard) func(*fasthttp.RequestCtx) int {
	return func(request *fasthttp.RequestCtx) int {
		if request.Request.Header.ContentLength() <= g.LimitBody(&request.Request.Header).MaxRequestBodySize {
			return fasthttp.StatusContinue
		}
		c := s.app.AcquireCtx(request)
		defer s.app.ReleaseCtx(c)
		if err := s.fail(c, fiber.ErrRequestEntityTooLarge); err != nil {
			return fiber.StatusInternalServerError
		}
		return fiber.StatusRequestEntityTooLarge
	}
}

// outage says which store is unavailable and what that means for events; "" if this process doesn't check or both are available.
func (s *Server) outage() string {
	is := map[string]bool{}
	for _, r := range s.probes.run() {
		is[r.Name] = r.OK
	}
	database, checksDatabase := is["database"]
	temporal, checksTemporal := is["temporal"]
	switch {
	case !checksDatabase || database:
		return ""
	case temporal: // either store is enough to accept: events wait in their workflows
		return "Database unavailable. Events are still being accepted."
	case checksTemporal:
		return "Database and Temporal unavailable. Events are answered with 503, so that their senders send them again."
	}
	return "Database unavailable."
}

// recoverPanic turns a panic into an error; otherwise fasthttp would end the process.
func (s *Server) recoverPanic(c *fiber.Ctx) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.log.Error("operator.panicked", "path", c.Path(), "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
			err = fiber.ErrInternalServerError
		}
	}()
	return c.Next()
}
