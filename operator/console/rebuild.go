package console

import (
	"errors"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

const (
	rebuildPath = operationsPath + "/rebuild"
	diffRoute   = operationsPath + "/rebuilds/:id/diff"
)

type rebuildForm struct {
	Filter operation.RebuildFilter
	Rate   float64
	DryRun bool
}

func rebuildOf(ctx *fiber.Ctx) (f rebuildForm, err error) {
	f.Filter.Provider = strings.TrimSpace(ctx.FormValue("provider"))
	f.Filter.Kind = strings.TrimSpace(ctx.FormValue("kind"))
	for name, text := range map[string]string{"provider": f.Filter.Provider, "kind": f.Filter.Kind} {
		if len(text) > 1024 || strings.Contains(text, "\x00") {
			return f, httpapi.BadField(name)
		}
	}
	if f.DryRun, err = strconv.ParseBool(ctx.FormValue("dry_run")); err != nil {
		return f, httpapi.BadField("dry_run")
	}
	f.Rate, err = rateField(ctx, operation.KindRebuild)
	return f, err
}

// rateField returns the rate in a form, or the default.
func rateField(ctx *fiber.Ctx, kind operation.Kind) (float64, error) {
	text := strings.TrimSpace(ctx.FormValue("rate"))
	if text == "" {
		return kind.Rates().Default, nil
	}
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil || !kind.Rates().Allow(rate) {
		return 0, httpapi.BadField("rate")
	}
	return rate, nil
}

// newRebuild shows the form and then the confirmation.
func (c *Console) newRebuild(ctx *fiber.Ctx) error {
	if ctx.Query("dry_run") == "" {
		return c.Show(ctx, "rebuild", frame.Page{Title: "Rebuild", Section: operations, Data: rebuildForm{
			Filter: operation.RebuildFilter{Provider: ctx.Query("provider"), Kind: ctx.Query("kind")},
			Rate:   operation.KindRebuild.Rates().Default,
		}})
	}
	f, err := rebuildOf(ctx)
	if err != nil {
		return err
	}
	q := frame.Confirm{
		Section: operations, Title: "Rebuild", Button: "Rebuild", Destroys: true,
		Question: "Parses stored events again with the current definitions, and corrects entities.",
		Action:   rebuildPath, Back: rebuildPath, Reason: "optional",
		Facts: []frame.Fact{
			{"Provider", orAll(f.Filter.Provider)}, {"Kind of entity", orAll(f.Filter.Kind)},
			{"Events a second", frame.Number(f.Rate)},
		},
		Fields: []frame.Fact{
			{"provider", f.Filter.Provider}, {"kind", f.Filter.Kind}, {"rate", ctx.FormValue("rate")},
			{"dry_run", strconv.FormatBool(f.DryRun)},
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
	f, err := rebuildOf(ctx)
	if err != nil {
		return err
	}
	wanted := operation.Rebuild{Base: operation.New(f.Rate), Filter: f.Filter, DryRun: f.DryRun}
	started, err := start(ctx, c.API.Rebuilds, wanted)
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
