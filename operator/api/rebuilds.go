package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/operator/httpapi"
)

// RebuildRequest is the body of a rebuild.
type RebuildRequest struct {
	operation.RebuildFilter
	httpapi.Reasoned

	// All selects everything. It is required without a filter and invalid with one.
	All bool `json:"all,omitempty"`
	// DryRun counts what would change, and changes nothing.
	DryRun bool `json:"dry_run,omitempty"`
	// Fetch asks the provider's API again for the state behind each event. It requires a provider, and allows neither a kind nor a
	// dry run.
	Fetch bool `json:"fetch,omitempty"`
	// Rate is the max number of events read per second.
	Rate float64 `json:"rate,omitempty" jsonschema:"minimum=0.01,maximum=10000,default=200"`
}

func (a *API) rebuildRoutes() []httpapi.Route {
	return append(httpapi.OperationRoutes(operation.KindRebuild, a.Rebuilds),
		httpapi.Post("startRebuild", "/rebuilds", "Parse stored events again with the current definitions; one rebuild at a time",
			httpapi.Starts(a.StartRebuild)).
			MayTake(RebuildRequest{}).Returns(fiber.StatusAccepted, operation.Rebuild{}),
		httpapi.Get("showRebuildDiff", "/rebuilds/:id/diff", "What the latest rebuild, a dry run, would change in some entities",
			a.showRebuildDiff).
			With(httpapi.TextParameter("id", "ID of the rebuild.")).Returns(fiber.StatusOK, httpapi.List[fold.EntityDiff]{}))
}

// ReadRebuild parses the body of a request for a rebuild.
func ReadRebuild(c *fiber.Ctx) (body RebuildRequest, err error) {
	if err := httpapi.ReadChange(c, &body); err != nil {
		return body, err
	}
	for field, text := range map[string]string{"provider": body.Provider, "kind": body.Kind} {
		if len(text) > httpapi.MaxText || !httpapi.IsText(text) {
			return body, httpapi.BadField(field)
		}
	}
	body.Rate, err = httpapi.Rate(body.Rate, operation.KindRebuild)
	return body, err
}

// StartRebuild starts the rebuild that a request asks for.
func (a *API) StartRebuild(c *fiber.Ctx) (started operation.Rebuild, err error) {
	body, err := ReadRebuild(c)
	if err == nil {
		err = httpapi.CheckAll(body.All, body.IsAll())
	}
	if err != nil {
		return started, err
	}
	wanted := operation.Rebuild{
		Base: operation.New(body.Rate), Filter: body.RebuildFilter, DryRun: body.DryRun, Fetch: body.Fetch,
	}
	if wanted.Fetch && !wanted.CanFetch() {
		return started, &httpapi.RefusalError{
			Code: httpapi.CodeBadField, Field: "fetch", Detail: "it needs a provider, and allows neither a kind nor a dry run",
		}
	}
	return httpapi.StartOperation(c, a.Rebuilds, wanted, body.Reason)
}

func (a *API) showRebuildDiff(c *fiber.Ctx) error {
	return httpapi.SendOperation(c, func(ctx context.Context, id string) (httpapi.List[fold.EntityDiff], error) {
		return httpapi.ListOf(a.Rebuilds.Diff(ctx, id))
	})
}
