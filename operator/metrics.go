package operator

import (
	_ "embed"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"

	"holdfast/event/oversight"
	"holdfast/operator/httpapi"
)

// metricRoutes serves both formats at /metrics, selected by the Accept header, JSON also at its own path, and the last hours.
func (o Options) metricRoutes() []httpapi.Route {
	var routes []httpapi.Route
	if o.Metrics != nil {
		routes = append(routes, httpapi.Get("/metrics", "metrics for Prometheus, or as JSON where only that is accepted",
			o.negotiateMetrics()))
	}
	if o.MetricsJSON != nil {
		routes = append(routes, httpapi.Get("/metrics.json", "metrics as JSON", adaptor.HTTPHandler(o.MetricsJSON)))
	}
	if o.MetricsHistory != nil {
		routes = append(routes, httpapi.Get("/metrics/history", "our own metrics of the last hours (?name=prefix, ?since=30m)",
			adaptor.HTTPHandler(o.MetricsHistory)))
	}
	return routes
}

// negotiateMetrics serves JSON to clients that prefer it. Prometheus asks for its own formats, and browsers for neither.
func (o Options) negotiateMetrics() fiber.Handler {
	text := adaptor.HTTPHandler(o.Metrics)
	if o.MetricsJSON == nil {
		return text
	}
	asJSON := adaptor.HTTPHandler(o.MetricsJSON)
	return func(c *fiber.Ctx) error {
		c.Vary(fiber.HeaderAccept)
		if c.Accepts(fiber.MIMETextPlain, fiber.MIMEApplicationJSON) == fiber.MIMEApplicationJSON {
			return asJSON(c)
		}
		return text(c)
	}
}

// openapi.json is written by hand. Tests compare it with the routes, the schema of OpenAPI 3.1 and real responses.
//
//go:embed openapi.json
var openAPIDocument []byte

func openAPI(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(openAPIDocument)
}

// RefusalMemory counts why this process refused requests.
type RefusalMemory interface {
	// Refusals returns those of a provider, or for "" those of all providers that have some, by name.
	Refusals(provider string) []oversight.ProviderRefusals
}

// refusalRoutes returns the routes of every process that receives webhooks, even without the rest of the API.
func (o Options) refusalRoutes() []httpapi.Route {
	if o.Refusals == nil {
		return nil
	}
	return []httpapi.Route{
		httpapi.Get("/refusals", "why this process has refused requests, by provider and cause", o.listRefusals),
	}
}

func (o Options) listRefusals(c *fiber.Ctx) error {
	q := httpapi.QueryOf(c, "provider")
	provider := q.Text("provider")
	if q.Err != nil {
		return q.Err
	}
	return c.JSON(httpapi.List[oversight.ProviderRefusals]{Items: o.Refusals.Refusals(provider)})
}
