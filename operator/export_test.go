package operator

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/operator/access"
)

// Registered are the routes that Fiber answers, for tests.
func (s *Server) Registered() []fiber.Route { return s.app.GetRoutes(true) }

// WriteWithin sets the time to write an answer, before the server serves.
func (s *Server) WriteWithin(d time.Duration) { s.app.Server().WriteTimeout = d }

// Needed is the role that the access table asks for; "" for a route that it does not name.
func Needed(method, path string) access.Role { return needs[method+" "+path] }

// Guarded are the entries of the access table.
func Guarded() (all []string) {
	for name := range needs {
		all = append(all, name)
	}
	return all
}
