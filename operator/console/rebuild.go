package console

import (
	"errors"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/operator/api"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

const (
	rebuildPath = operationsPath + "/rebuild"
	diffRoute   = operationsPath + "/rebuilds/:id/diff"
)

// newRebuild shows the form and then the confirmation.
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
		Question: "Parses stored events again with the current definitions, and corrects entities.",
		Action:   rebuildPath, Back: rebuildPath, Reason: "optional",
		Facts: []frame.Fact{
			{"Provider", orAll(f.Provider)}, {"Kind of entity", orAll(f.Kind)},
			{"Events a second", frame.Number(f.Rate)},
		},
		Fields: []frame.Fact{
			{"provider", f.Provider}, {"kind", f.Kind}, {"rate", ctx.FormValue("rate")},
			{"dry_run", strconv.FormatBool(f.DryRun)}, {"all", strconv.FormatBool(f.IsAll())},
		},
	}
	if f.DryRun {
		q.Title, q.Button, q.Destroys = "Dry run of a rebuild", "Start the dry run", false
		q.Question = "Parses stored events again with the current definitions. Nothing changes; the result shows what would."
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
