package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/operator/exchange"
)

// rebuildRequest is the body of a rebuild.
type rebuildRequest struct {
	operation.RebuildFilter
	exchange.Reasoned

	// All says that everything is meant, which an empty filter alone does not.
	All    bool `json:"all"`
	DryRun bool `json:"dry_run"`
	// Rate is how many events are read a second; 0 is operation.DefaultRebuildRate.
	Rate float64 `json:"rate"`
}

func rebuildOf(c *fiber.Ctx) (body rebuildRequest, err error) {
	if err := exchange.ReadChange(c, &body); err != nil {
		return body, err
	}
	for field, text := range map[string]string{"provider": body.Provider, "kind": body.Kind} {
		if len(text) > exchange.MaxText || !exchange.IsText(text) {
			return body, exchange.BadField(field)
		}
	}
	if body.Rate == 0 {
		body.Rate = operation.DefaultRebuildRate
	}
	if body.Rate < operation.MinRebuildRate || body.Rate > operation.MaxRebuildRate {
		return body, exchange.BadField("rate")
	}
	switch all := body.IsAll(); {
	case all && !body.All:
		return body, exchange.MissingField("all")
	case body.All && !all:
		return body, exchange.BadField("all")
	}
	return body, nil
}

func (a *API) startRebuild(c *fiber.Ctx) error {
	body, err := rebuildOf(c)
	if err != nil {
		return err
	}
	ctx, cancel := exchange.Within(c)
	defer cancel()
	started, err := a.Rebuilds.StartRebuild(ctx, body.RebuildFilter, body.Rate, body.DryRun, exchange.Actor(c, body.Reason))
	if err != nil && started.ID == "" {
		return err
	}
	return c.Status(fiber.StatusAccepted).JSON(started)
}

func (a *API) showRebuildDiff(c *fiber.Ctx) error {
	return exchange.SendOperation(c, func(ctx context.Context, id string) (exchange.List[fold.EntityDiff], error) {
		diffs, err := a.Rebuilds.RebuildDiff(ctx, id)
		return exchange.List[fold.EntityDiff]{Items: append([]fold.EntityDiff{}, diffs...)}, err
	})
}
