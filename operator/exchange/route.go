package exchange

import "github.com/gofiber/fiber/v2"

// Route is one entry of the index, and the way in which routes are registered: what is served is listed.
type Route struct {
	Method  string        `json:"method"`
	Path    string        `json:"path"`
	About   string        `json:"about"`
	Handler fiber.Handler `json:"-"`
}

// Get is a route that reads.
func Get(path, about string, handler fiber.Handler) Route {
	return Route{fiber.MethodGet, path, about, handler}
}

// Post is a route that makes something, or has something done.
func Post(path, about string, handler fiber.Handler) Route {
	return Route{fiber.MethodPost, path, about, handler}
}

// Put is a route that takes something as a whole.
func Put(path, about string, handler fiber.Handler) Route {
	return Route{fiber.MethodPut, path, about, handler}
}

// Patch is a route that takes the fields that change.
func Patch(path, about string, handler fiber.Handler) Route {
	return Route{fiber.MethodPatch, path, about, handler}
}

// Delete is a route that removes something.
func Delete(path, about string, handler fiber.Handler) Route {
	return Route{fiber.MethodDelete, path, about, handler}
}
