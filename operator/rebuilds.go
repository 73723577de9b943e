package operator

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/fold"
	"holdfast/event/operation"
)

// rebuildRequest is the body of a rebuild.
type rebuildRequest struct {
	operation.RebuildFilter
	reasoned

	// All says that everything is meant, which an empty filter alone does not.
	All    bool `json:"all"`
	DryRun bool `json:"dry_run"`
	// Rate is how many events are read a second; 0 is event.DefaultRebuildRate.
	Rate float64 `json:"rate"`
}

func rebuildOf(c *fiber.Ctx) (body rebuildRequest, err error) {
	if err := readChange(c, &body); err != nil {
		return body, err
	}
	for field, text := range map[string]string{"provider": body.Provider, "kind": body.Kind} {
		if len(text) > maxText || !isText(text) {
			return body, refuseField(codeBadField, field)
		}
	}
	if body.Rate == 0 {
		body.Rate = operation.DefaultRebuildRate
	}
	if body.Rate < operation.MinRebuildRate || body.Rate > operation.MaxRebuildRate {
		return body, refuseField(codeBadField, "rate")
	}
	switch all := body.IsAll(); {
	case all && !body.All:
		return body, refuseField(codeMissingField, "all")
	case body.All && !all:
		return body, refuseField(codeBadField, "all")
	}
	return body, nil
}

func (a *API) startRebuild(c *fiber.Ctx) error {
	body, err := rebuildOf(c)
	if err != nil {
		return err
	}
	ctx, cancel := within(c)
	defer cancel()
	started, err := a.Rebuilds.StartRebuild(ctx, body.RebuildFilter, body.Rate, body.DryRun, actor(c, body.Reason))
	if err != nil && started.ID == "" {
		return err
	}
	return c.Status(fiber.StatusAccepted).JSON(started)
}

func (a *API) showRebuildDiff(c *fiber.Ctx) error {
	return sendOperation(c, func(ctx context.Context, id string) (List[fold.EntityDiff], error) {
		diffs, err := a.Rebuilds.RebuildDiff(ctx, id)
		return List[fold.EntityDiff]{Items: append([]fold.EntityDiff{}, diffs...)}, err
	})
}
