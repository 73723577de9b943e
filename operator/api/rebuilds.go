package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/operator/httpapi"
)

type rebuildRequest struct {
	operation.RebuildFilter
	httpapi.Reasoned

	// All selects everything; an empty filter alone doesn't.
	All    bool `json:"all"`
	DryRun bool `json:"dry_run"`
	// Rate is the number of events read per second; 0 is the default.
	Rate float64 `json:"rate"`
}

func rebuildOf(c *fiber.Ctx) (body rebuildRequest, err error) {
	if err := httpapi.ReadChange(c, &body); err != nil {
		return body, err
	}
	for field, text := range map[string]string{"provider": body.Provider, "kind": body.Kind} {
		if len(text) > httpapi.MaxText || !httpapi.IsText(text) {
			return body, httpapi.BadField(field)
		}
	}
	if body.Rate, err = httpapi.Rate(body.Rate, operation.KindRebuild); err != nil {
		return body, err
	}
	return body, httpapi.CheckAll(body.All, body.IsAll())
}

func (a *API) startRebuild(c *fiber.Ctx) error {
	body, err := rebuildOf(c)
	if err != nil {
		return err
	}
	wanted := operation.Rebuild{Base: operation.New(body.Rate), Filter: body.RebuildFilter, DryRun: body.DryRun}
	return httpapi.StartOperation(c, a.Rebuilds, wanted, body.Reason)
}

func (a *API) showRebuildDiff(c *fiber.Ctx) error {
	return httpapi.SendOperation(c, func(ctx context.Context, id string) (httpapi.List[fold.EntityDiff], error) {
		return httpapi.ListOf(a.Rebuilds.Diff(ctx, id))
	})
}
