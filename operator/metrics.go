package operator

import (
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"

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
