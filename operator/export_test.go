package operator

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/operator/httpapi"
)

// Registered returns Fiber's routes, for tests.
func (s *Server) Registered() []fiber.Route { return s.app.GetRoutes(true) }

// WriteWithin sets the write timeout before the server starts.
func (s *Server) WriteWithin(d time.Duration) { s.app.Server().WriteTimeout = d }

// Routes returns the routes that the document describes.
func (s *Server) Routes() []httpapi.Route { return s.routes }
