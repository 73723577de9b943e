package operator

import (
	"time"

	"github.com/gofiber/fiber/v2"
)

// Registered are the routes that Fiber answers, for tests.
func (s *Server) Registered() []fiber.Route { return s.app.GetRoutes(true) }

// WriteWithin sets the time to write an answer, before the server serves.
func (s *Server) WriteWithin(d time.Duration) { s.app.Server().WriteTimeout = d }
