package operator

import (
	"time"

	"github.com/gofiber/fiber/v2"
)

// Registered returns Fiber's routes, for tests.
func (s *Server) Registered() []fiber.Route { return s.app.GetRoutes(true) }

// WriteWithin sets the write timeout before the server starts.
func (s *Server) WriteWithin(d time.Duration) { s.app.Server().WriteTimeout = d }
