package operator

import (
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"

	"holdfast/operator/exchange"
)

// metricRoutes serve both forms at /metrics, by what the caller accepts, JSON also by its name, and the last hours.
func (o Options) metricRoutes() []exchange.Route {
	var routes []exchange.Route
	if o.Metrics != nil {
		routes = append(routes, exchange.Get("/metrics", "metrics for Prometheus, or as JSON where only that is accepted",
			o.negotiateMetrics()))
	}
	if o.MetricsJSON != nil {
		routes = append(routes, exchange.Get("/metrics.json", "metrics as JSON", adaptor.HTTPHandler(o.MetricsJSON)))
	}
	if o.MetricsHistory != nil {
		routes = append(routes, exchange.Get("/metrics/history", "our own metrics of the last hours (?name=prefix, ?since=30m)",
			adaptor.HTTPHandler(o.MetricsHistory)))
	}
	return routes
}

// negotiateMetrics gives JSON to whoever names it first. Prometheus names its own formats, and a browser none of them.
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
