package httpapi

import "github.com/gofiber/fiber/v2"

// Route is an entry of the index; every route is registered through one, so the index is complete.
type Route struct {
	Method  string        `json:"method"`
	Path    string        `json:"path"`
	About   string        `json:"about"`
	Handler fiber.Handler `json:"-"`
}

// Get returns a route that reads.
func Get(path, about string, handler fiber.Handler) Route {
	return Route{fiber.MethodGet, path, about, handler}
}

// Post returns a route that creates something or triggers an action.
func Post(path, about string, handler fiber.Handler) Route {
	return Route{fiber.MethodPost, path, about, handler}
}

// Put returns a route that replaces something.
func Put(path, about string, handler fiber.Handler) Route {
	return Route{fiber.MethodPut, path, about, handler}
}

// Patch returns a route that changes the given fields.
func Patch(path, about string, handler fiber.Handler) Route {
	return Route{fiber.MethodPatch, path, about, handler}
}

// Delete returns a route that deletes something.
func Delete(path, about string, handler fiber.Handler) Route {
	return Route{fiber.MethodDelete, path, about, handler}
}
