package httpapi

import "github.com/gofiber/fiber/v2"

// Route is an entry of the index; every route is registered through one, so the index is complete. openapi.json is generated
// from the routes and from the types of their bodies.
type Route struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	// About says in one sentence, without a period, what the route does.
	About string `json:"about"`
	// Details has what doesn't fit into About.
	Details string        `json:"-"`
	Handler fiber.Handler `json:"-"`

	// Name identifies the route in openapi.json. Generated clients name their functions after it.
	Name string `json:"-"`
	// Parameters lists the parameters of the path and of the query.
	Parameters []Parameter `json:"-"`
	// Body is a value of the type of the request body, or a Text; nil if there is none. Required are the fields that a request
	// must have.
	Body           any      `json:"-"`
	Required       []string `json:"-"`
	BodyIsOptional bool     `json:"-"`
	// Responses has all responses except errors.
	Responses []Response `json:"-"`
}

// Response is a response of a route.
type Response struct {
	Status int
	// Body is a value of the type that is sent as JSON, or a Text; nil if the body is empty.
	Body any
}

// Text is a body that isn't JSON.
type Text struct {
	// MediaType may have several, separated by a comma. It is "" for a response without a body of its own, such as the start of a
	// WebSocket.
	MediaType, About string
}

// Get returns a route that reads.
func Get(name, path, about string, handler fiber.Handler) Route {
	return Route{Method: fiber.MethodGet, Name: name, Path: path, About: about, Handler: handler}
}

// Post returns a route that creates something or triggers an action.
func Post(name, path, about string, handler fiber.Handler) Route {
	return Route{Method: fiber.MethodPost, Name: name, Path: path, About: about, Handler: handler}
}

// Put returns a route that replaces something.
func Put(name, path, about string, handler fiber.Handler) Route {
	return Route{Method: fiber.MethodPut, Name: name, Path: path, About: about, Handler: handler}
}

// Patch returns a route that changes the given fields.
func Patch(name, path, about string, handler fiber.Handler) Route {
	return Route{Method: fiber.MethodPatch, Name: name, Path: path, About: about, Handler: handler}
}

// Delete returns a route that deletes something.
func Delete(name, path, about string, handler fiber.Handler) Route {
	return Route{Method: fiber.MethodDelete, Name: name, Path: path, About: about, Handler: handler}
}

// Explain adds details.
func (r Route) Explain(details string) Route {
	r.Details = details
	return r
}

// With adds parameters of the path or of the query.
func (r Route) With(all ...Parameter) Route {
	r.Parameters = append(r.Parameters[:len(r.Parameters):len(r.Parameters)], all...)
	return r
}

// Takes sets the request body.
func (r Route) Takes(body any, required ...string) Route {
	r.Body, r.Required, r.BodyIsOptional = body, required, false
	return r
}

// MayTake sets a request body that a request can omit.
func (r Route) MayTake(body any) Route {
	r.Body, r.Required, r.BodyIsOptional = body, nil, true
	return r
}

// Returns adds a response.
func (r Route) Returns(status int, body any) Route {
	r.Responses = append(r.Responses[:len(r.Responses):len(r.Responses)], Response{status, body})
	return r
}
