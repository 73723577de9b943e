package events

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/internal/cli"
)

func entityRebuildCommand() *cobra.Command {
	o := rebuildOptions{rate: operation.KindRebuild.Rates().Default}
	command := &cobra.Command{
		Use:   "rebuild",
		Short: "Read stored events again, and correct the entities",
		Long: "Read the stored bodies of processed events again with the workers' current\n" +
			"definitions, and correct the entities that differ. Changes made by the old definition\n" +
			"are undone. Events that the current definition can't read are listed and stay\n" +
			"unchanged. With --dry-run, the command ends with the differences of some entities.",
		Example: "  holdfast entity rebuild --provider stripe --kind customer --dry-run\n" +
			"  holdfast entity rebuild --provider stripe --rate 500/s --reason INC-42\n" +
			"  holdfast entity rebuild --yes --detach      # everything, without waiting\n" +
			"  holdfast rebuild watch|pause|cancel ID",
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, _ []string) error {
			return o.run(c, t)
		}),
	}
	cli.AddProviderFlag(command, &o.filter.Provider)
	cli.AddKindFlag(command, &o.filter.Kind, "")
	cli.AddRateFlag(command, &o.rate, "rate", "events to read")
	cli.AddReasonFlag(command)
	cli.AddStartFlags(command, &o.dryRun)
	cli.AddJSONFlag(command)
	return command
}

type rebuildOptions struct {
	filter operation.RebuildFilter
	rate   float64
	dryRun bool
}

func (o *rebuildOptions) run(c *cobra.Command, t *cli.Tools) error {
	question := fmt.Sprintf("Rebuild the entities of %s?", filterOfRebuild(o.filter))
	if !o.dryRun && !cli.Confirm(c, question) {
		return errors.New("nothing was started (--yes starts it without asking, --dry-run changes nothing)")
	}
	r, err := t.Rebuilds().Start(c.Context(), operation.Rebuild{
		Base: operation.New(o.rate), Filter: o.filter, DryRun: o.dryRun,
	}, cli.ActorOf(c))
	if r.ID == "" {
		return err
	}
	if r.Until.IsZero() {
		cli.WarnUnknownProvider(c, t.Cfg, o.filter.Provider, 0)
	}
	r, err = rebuilds().Follow(c, t, r, err)
	var diffs []fold.EntityDiff
	if r.DryRun && r.State == operation.Completed {
		found, diffErr := t.Rebuilds().Diff(c.Context(), r.ID)
		diffs, err = found, errors.Join(err, diffErr)
	}
	return cli.Report(c, struct {
		operation.Rebuild
		Diff []fold.EntityDiff `json:"diff,omitempty"`
	}{r, diffs}, func(w io.Writer) error { return errors.Join(writeRebuild(w, r), writeDiffs(w, diffs)) }, err)
}
