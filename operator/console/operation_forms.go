package console

import (
	"errors"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/operator/api"
	"holdfast/operator/api/deliveryapi"
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
	// First bounds the dead letters whose keys were checked, and All is the path, without the prefix, of the plan of all; 0 and ""
	// if this is it.
	First int
	All   string
}

// quickPlan is how many dead letters or events the plan on a page looks at, unless the user asks for all. Most plans have fewer.
const quickPlan = 1000

// planned returns the bound that a plan's query asks for, or else quickPlan, and the path of the plan without a bound.
func planned(ctx *fiber.Ctx, path string, asked int) (first int, all string) {
	query := frame.QueryOf(ctx)
	if first = quickPlan; query.Get("first") != "" {
		first = asked
	}
	query.Set("first", "0")
	return first, path + "?" + query.Encode()
}

// planReplay shows what a replay with a filter would run.
func (c *Console) planReplay(ctx *fiber.Ctx) error {
	wanted, err := api.ReadReplay(ctx)
	if err != nil {
		return err
	}
	return c.showPlan(ctx, wanted, 0)
}

func (c *Console) showPlan(ctx *fiber.Ctx, wanted api.ReplayRequest, was int64) error {
	f := wanted.ReplayFilter
	first, all := planned(ctx, deadLettersPath+"/replay", wanted.First)
	plan, err := c.API.Replays.Plan(ctx.UserContext(), f, first)
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
		Plan: plan, Facts: factsOf(f), Rate: usual, Was: was, First: first, All: all,
		Action: deadLettersPath + "/replay?" + query, Back: deadLetterListPath + "?" + list.Encode(),
		Takes: frame.ShortDuration(max(time.Second, time.Duration(float64(plan.Count)/usual*float64(time.Second)))),
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
		return c.showPlan(ctx, wanted, count)
	}
	started, err := c.API.StartReplay(ctx)
	if err != nil {
		return err
	}
	done := "Replaying " + countOf(started.Total, "dead letter", "dead letters") + "."
	return c.Done(ctx, operationPath("replays", started.ID), done)
}

const (
	rebuildPath = operationsPath + "/rebuild"
	diffRoute   = operationsPath + "/rebuilds/:id/diff"
)

// newRebuild shows the form and then the confirmation, which "Rebuild the same" leads to at once.
func (c *Console) newRebuild(ctx *fiber.Ctx) error {
	f, err := api.ReadRebuild(ctx)
	if err != nil {
		return err
	}
	if ctx.Query("dry_run") == "" {
		return c.Show(ctx, "rebuild", frame.Page{Title: "Rebuild", Section: operations, Data: f})
	}
	q := frame.Confirm{
		Section: operations, Title: "Rebuild", Button: "Rebuild", Destroys: true,
		Question: "Parses stored events with the current definitions and corrects the entities.",
		Action:   rebuildPath, Back: rebuildPath, Reason: "optional",
		Facts: []frame.Fact{
			{"Provider", orAll(f.Provider)}, {"Kind of entity", orAll(f.Kind)},
			{"Events a second", frame.Number(f.Rate)},
		},
		Fields: []frame.Fact{
			{"provider", f.Provider}, {"kind", f.Kind}, {"rate", ctx.FormValue("rate")},
			{"dry_run", strconv.FormatBool(f.DryRun)}, {"all", strconv.FormatBool(f.IsAll())}, {"fetch", strconv.FormatBool(f.Fetch)},
		},
	}
	if f.Fetch {
		q.Facts = append(q.Facts, frame.Fact{"States", "fetched again from the provider's API"})
	}
	if f.DryRun {
		q.Title, q.Button, q.Destroys = "Dry run of a rebuild", "Start the dry run", false
		q.Question = "Parses stored events with the current definitions. Nothing changes; the result shows what would change."
	}
	return c.Ask(ctx, q)
}

func orAll(text string) string {
	if text == "" {
		return "all"
	}
	return text
}

func (c *Console) startRebuild(ctx *fiber.Ctx) error {
	started, err := c.API.StartRebuild(ctx)
	if err != nil {
		return err
	}
	return c.Done(ctx, operationPath("rebuilds", started.ID), "Started.")
}

// diffPage shows what a dry run would change in some entities. The next rebuild deletes it.
type diffPage struct {
	ID    string
	Gone  bool
	Diffs []fold.EntityDiff
}

func (c *Console) showDiff(ctx *fiber.Ctx) error {
	id, err := httpapi.PathText(ctx, "id")
	if err != nil {
		return err
	}
	diffs, err := c.API.Rebuilds.Diff(ctx.UserContext(), id)
	isGone := errors.Is(err, event.ErrNotFound)
	if isGone {
		_, err = c.API.Rebuilds.Read(ctx.UserContext(), id)
	}
	if err != nil {
		return err
	}
	title := "What rebuild " + id + " would change"
	return c.Show(ctx, "diff", frame.Page{Title: title, Section: operations, Data: diffPage{id, isGone, diffs}})
}

const resendPath = operationsPath + "/resend"

// resendPage is the form for a resend and, once it is filled in, the plan of it.
type resendPage struct {
	Subscription, Since, Until string
	Everything, Imported       bool
	Rate                       float64
	// Names are the existing subscriptions.
	Names []string
	// Plan is nil until the form is filled in, and All is the path, without the prefix, of the plan of all events.
	Plan *operation.ResendPlan
	All  string
}

// DefaultRate applies if the form has no rate.
func (resendPage) DefaultRate() float64 { return operation.KindResend.Rates().Default }

// newResend shows the form, and then the plan with the form that starts it. The range's end is a fixed time, so that the resend
// covers exactly the plan.
func (c *Console) newResend(ctx *fiber.Ctx) error {
	page := resendPage{
		Subscription: ctx.Query("subscription"), Since: ctx.Query("since"), Until: ctx.Query("until"),
		Everything: ctx.Query("everything") != "", Imported: ctx.Query("imported") != "", Rate: resendPage{}.DefaultRate(),
	}
	names, err := c.subscriptionNames(ctx)
	if err != nil {
		return err
	}
	page.Names = names
	if page.Subscription != "" && page.Since != "" {
		wanted, err := deliveryapi.ReadResend(ctx)
		if err != nil {
			return err
		}
		first, all := planned(ctx, resendPath, wanted.First)
		plan, err := c.API.Outbound.Resends.Plan(ctx.UserContext(), wanted.Subscription, wanted.Since, wanted.Until, first)
		if err != nil {
			return err
		}
		page.All = all
		page.Plan, page.Rate = &plan, wanted.Rate
		page.Since, page.Until = frame.InstantText(wanted.Since), frame.InstantText(wanted.Until)
	}
	return c.Show(ctx, "resend", frame.Page{Title: "Resend", Section: operations, Data: page})
}

func (c *Console) startResend(ctx *fiber.Ctx) error {
	started, err := c.API.Outbound.StartResend(ctx)
	if err != nil {
		return err
	}
	return c.Done(ctx, operationPath("resends", started.ID), "Started.")
}
