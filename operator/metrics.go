package operator

import (
	_ "embed"
	"encoding/json"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"

	"holdfast/event/oversight"
	"holdfast/operator/httpapi"
)

// metricRoutes serves both formats at /metrics, selected by the Accept header, JSON also at its own path, and the last hours.
func (o Options) metricRoutes() []httpapi.Route {
	var routes []httpapi.Route
	if o.Metrics != nil {
		routes = append(routes, httpapi.Get("metrics", "/metrics", "Metrics for Prometheus, or as JSON if the client prefers that",
			o.negotiateMetrics()).
			Returns(fiber.StatusOK, httpapi.Text{MediaType: fiber.MIMETextPlain, About: "Prometheus's text format."}))
	}
	if o.MetricsJSON != nil {
		routes = append(routes, httpapi.Get("metricsJSON", "/metrics.json", "Metrics as JSON", adaptor.HTTPHandler(o.MetricsJSON)).
			Returns(fiber.StatusOK, json.RawMessage{}))
	}
	if o.MetricsHistory != nil {
		routes = append(routes, httpapi.Get("metricsHistory", "/metrics/history", "Holdfast's own metrics of the last hours",
			adaptor.HTTPHandler(o.MetricsHistory)).
			With(httpapi.TextParameter("name", "Prefix of the names."),
				httpapi.TextParameter("since", "How far back, in s, m or h (30m, 2h).")).
			Returns(fiber.StatusOK, json.RawMessage{}))
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

// openapi.json is generated from the routes by a test, which also compares it with the schema of OpenAPI 3.1 and with real
// responses.
//
//go:embed openapi.json
var openAPIDocument []byte

func openAPI(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(openAPIDocument)
}

// refusalRoutes returns the routes of every process that receives webhooks, even without the rest of the API.
func (o Options) refusalRoutes() []httpapi.Route {
	if o.Refusals == nil {
		return nil
	}
	return []httpapi.Route{
		httpapi.Get("listRefusals", "/refusals", "Requests that this process refused, by provider and cause", o.listRefusals).
			With(httpapi.ProviderParameter).Returns(fiber.StatusOK, httpapi.List[oversight.ProviderRefusals]{}),
	}
}

func (o Options) listRefusals(c *fiber.Ctx) error {
	q := httpapi.QueryOf(c, httpapi.ProviderParameter)
	provider := q.Text("provider")
	if q.Err != nil {
		return q.Err
	}
	return c.JSON(httpapi.List[oversight.ProviderRefusals]{Items: o.Refusals.Refusals(provider)})
}
