package operator

import (
	"github.com/gofiber/fiber/v2"

	"holdfast/event/oversight"
	"holdfast/operator/httpapi"
)

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
