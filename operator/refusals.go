package operator

import (
	"github.com/gofiber/fiber/v2"

	"holdfast/event/oversight"
	"holdfast/operator/exchange"
)

// RefusalMemory says why requests were refused by this process.
type RefusalMemory interface {
	// Refusals are those of a provider, or of all that have some ("" is all), by name.
	Refusals(provider string) []oversight.ProviderRefusals
}

// refusalRoutes are those of a process that receives webhooks, whether it serves the rest of the API or not.
func (o Options) refusalRoutes() []exchange.Route {
	if o.Refusals == nil {
		return nil
	}
	return []exchange.Route{
		exchange.Get("/refusals", "why this process has refused requests, by provider and cause", o.listRefusals),
	}
}

func (o Options) listRefusals(c *fiber.Ctx) error {
	q := exchange.QueryOf(c, "provider")
	provider := q.Text("provider")
	if q.Err != nil {
		return q.Err
	}
	return c.JSON(exchange.List[oversight.ProviderRefusals]{Items: o.Refusals.Refusals(provider)})
}
