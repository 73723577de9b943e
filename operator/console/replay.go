package console

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/operator/api"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

// replayPage is the plan of a replay, with the form that starts it.
type replayPage struct {
	Plan  operation.ReplayPlan
	Facts []frame.Fact
	// Action is the form's target, with the same filter.
	Action, Back string
	Rate         float64
	// Takes is the minimum duration at that rate.
	Takes string
	// Was is the count that the form showed, if the plan has a different one now; otherwise 0.
	Was int64
}

// planReplay shows what a replay with a filter would run.
func (c *Console) planReplay(ctx *fiber.Ctx) error {
	wanted, err := api.ReadReplay(ctx)
	if err != nil {
		return err
	}
	return c.showPlan(ctx, wanted.ReplayFilter, 0)
}

func (c *Console) showPlan(ctx *fiber.Ctx, f operation.ReplayFilter, was int64) error {
	plan, err := c.API.Replays.Plan(ctx.UserContext(), f)
	if err != nil {
		return err
	}
	query := filterValues(f).Encode()
	list := filterValues(f)
	if f.State == "" {
		list.Set("state", string(event.DeadLetterOpen))
	}
	usual := operation.KindReplay.Rates().Default
	data := replayPage{
		Plan: plan, Facts: factsOf(f), Rate: usual, Was: was,
		Action: deadLettersPath + "/replay?" + query, Back: deadLetterListPath + "?" + list.Encode(),
		Takes: frame.ShortDuration(time.Duration(float64(plan.Count) / usual * float64(time.Second))),
	}
	return c.Show(ctx, "replay", frame.Page{Title: "Replay", Section: deadLetters, Data: data})
}

// startReplay starts the confirmed replay; if the count has changed, it shows the plan again.
func (c *Console) startReplay(ctx *fiber.Ctx) error {
	wanted, err := api.ReadReplay(ctx)
	if err != nil {
		return err
	}
	count, err := strconv.ParseInt(ctx.FormValue("count"), 10, 64)
	if err != nil {
		return httpapi.BadField("count")
	}
	plan, err := c.API.Replays.Count(ctx.UserContext(), wanted.ReplayFilter)
	if err != nil {
		return err
	}
	if plan.Count != count {
		return c.showPlan(ctx, wanted.ReplayFilter, count)
	}
	started, err := c.API.StartReplay(ctx)
	if err != nil {
		return err
	}
	return c.Done(ctx, operationPath("replays", started.ID), fmt.Sprintf("Replaying %d dead letters.", started.Total))
}
