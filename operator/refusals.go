package operator

import (
	"github.com/gofiber/fiber/v2"

	"holdfast/event/oversight"
	"holdfast/operator/exchange"
)

// RefusalMemory counts why this process refused requests.
type RefusalMemory interface {
	// Refusals returns those of a provider, or for "" those of all providers that have some, by name.
	Refusals(provider string) []oversight.ProviderRefusals
}

// refusalRoutes returns the routes of every process that receives webhooks, even without the rest of the API.
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
