package events

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/internal/cli"
	"holdfast/operator/api"
	"holdfast/operator/httpapi"
)

// RebuildCommand returns `holdfast rebuild`.
func RebuildCommand() *cobra.Command {
	return cli.Group("rebuild", "List, pause and cancel rebuilds started by `entity rebuild`",
		"  holdfast rebuild list\n  holdfast rebuild watch 20261122-161500-k3xq",
		append(rebuilds().Commands(), diffCommand())...)
}

func rebuilds() cli.Runs[operation.Rebuild] {
	return cli.Runs[operation.Rebuild]{
		Kind:    operation.KindRebuild,
		Heading: []string{"DRY RUN+", "READ", "CHANGED", "UNREADABLE", "SPLITS+", "SKIPPED+", "ENTITIES+"},
		Cells: func(r operation.Rebuild) []string {
			return []string{
				fmt.Sprint(r.DryRun), cli.Number(r.Read), cli.Number(r.Changed), cli.Number(r.Unreadable), cli.Number(r.Splits),
				cli.Number(r.Skipped), cli.Number(r.Entities),
			}
		},
		Write: writeRebuild,
		Line: func(r operation.Rebuild) string {
			return fmt.Sprintf("%d events read: %d changed, %d unreadable, %d splits, %d skipped; %d entities differ (%s)",
				r.Read, r.Changed, r.Unreadable, r.Splits, r.Skipped, r.Entities, r.State)
		},
		End: func(r operation.Rebuild) (bool, error) {
			if unchanged := r.Unreadable + r.Splits; r.State.Ended() && unchanged > 0 {
				return true, fmt.Errorf("%d of %d events could not be read, or are several now, and are unchanged: holdfast rebuild show %s",
					unchanged, r.Read, r.ID)
			}
			return r.State.Ended(), nil
		},
	}
}

func diffCommand() *cobra.Command {
	return cli.WithJSON(cli.WithAPI(&cobra.Command{
		Use:     "diff ID",
		Short:   "Show how a dry run would change some entities",
		Long:    "Show how a dry run would change some entities. Only the latest rebuild has a diff.",
		Example: "  holdfast rebuild diff 20261122-161500-k3xq",
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		err := cli.Show(c, a, cli.Path("rebuilds", args[0], "diff"), nil, func(w io.Writer, l httpapi.List[fold.EntityDiff]) error {
			return writeDiffs(w, l.Items)
		})
		if errors.Is(err, event.ErrNotFound) {
			return cli.NotFound("%q has no diff. Only the latest rebuild has one, and only if it was a dry run: "+
				"see `holdfast rebuild list`", args[0])
		}
		return err
	}))
}

func filterOfRebuild(f operation.RebuildFilter) string {
	return cmp.Or(f.Provider, "all providers") + ", " + cmp.Or(f.Kind, "all kinds")
}

func writeRebuild(w io.Writer, r operation.Rebuild) error {
	var dry, fetch, reached string
	if r.Fetch {
		fetch = "yes (the provider's API is asked again)"
	}
	if r.DryRun {
		dry = "yes (nothing is changed)"
	}
	if !r.Until.IsZero() {
		reached = fmt.Sprintf("%3.0f%% of %s to %s", r.Share()*100, r.From.Format(time.RFC3339), r.Until.Format(time.RFC3339))
	}
	err := cli.WriteFields(w,
		"rebuild", r.ID,
		"state", string(r.State),
		"filter", filterOfRebuild(r.Filter),
		"dry run", dry,
		"fetch", fetch,
		"rate", cli.RateText(r.Rate),
		"reached", reached,
		"events read", cli.Number(r.Read),
		"changed", cli.Number(r.Changed),
		"unreadable", cli.Number(r.Unreadable),
		"splits", splitsText(r),
		"skipped", cli.Number(r.Skipped),
		"entities that differ", cli.Number(r.Entities),
		"other keys", otherKeys(r),
		"started", r.StartedAt.Format(time.RFC3339)+" by "+r.StartedBy,
		"ended", cli.OptionalTimeText(r.EndedAt),
	)
	if err != nil {
		return err
	}
	if err := writeKeyConflicts(w, r.KeyConflicts); err != nil || len(r.Problems) == 0 {
		return err
	}
	table := cli.NewTable(w, "UNCHANGED EVENT!", "PROVIDER", "CLASS+", "CODE", "MESSAGE")
	for _, p := range r.Problems {
		table.Row(p.EventID, p.Provider, string(p.Class), p.Code, cli.Shorten(p.Message))
	}
	return table.Flush()
}

// otherKeys says how many events have another key by the current definition; "" if none.
func otherKeys(r operation.Rebuild) string {
	if r.CorrectedKeys == 0 {
		return ""
	}
	return fmt.Sprintf("%s, of which %s are another event's", cli.Number(r.CorrectedKeys), cli.Number(r.SharedKeys))
}

// splitsText says how many events the current definition splits; "" if none.
func splitsText(r operation.Rebuild) string {
	if r.Splits == 0 {
		return ""
	}
	return cli.Number(r.Splits) + " (several events by the current definition; each stays one)"
}

func writeKeyConflicts(w io.Writer, all []operation.SharedKey) error {
	if len(all) == 0 {
		return nil
	}
	table := cli.NewTable(w, "EVENT!", "PROVIDER", "KEY+", "SAME KEY AS EVENT!")
	for _, k := range all {
		table.Row(k.EventID, k.Provider, k.Key, k.Owner)
	}
	return table.Flush()
}

func writeDiffs(w io.Writer, diffs []fold.EntityDiff) error {
	for _, d := range diffs {
		fmt.Fprintf(w, "\n%s\n", cli.Printable(d.Provider+" "+d.Kind+" "+d.ExternalID))
		switch {
		case d.TooLong:
			fmt.Fprintln(w, "  too many changes to show")
		case len(d.Fields) == 0:
			fmt.Fprintln(w, "  its events differ, but its state stays the same")
		}
		for _, f := range d.Fields {
			fmt.Fprintf(w, "  %s: %s → %s\n", cli.Printable(f.Path), cli.ValueText(f.Old), cli.ValueText(f.New))
		}
	}
	return nil
}

func entityRebuildCommand() *cobra.Command {
	o := rebuildOptions{Rate: operation.KindRebuild.Rates().Default}
	command := cli.WithAPI(&cobra.Command{
		Use:   "rebuild",
		Short: "Read stored events again, and correct the entities",
		Long: "Read the stored bodies of processed events again with the workers' current\n" +
			"definitions, and correct the entities that differ. Changes made by the old definition\n" +
			"are undone. Events that the current definition can't read are listed and stay\n" +
			"unchanged. With --dry-run, the command ends with the differences of some entities.\n" +
			"--fetch is for all events of one --provider, without --kind and --dry-run.",
		Example: "  holdfast entity rebuild --provider stripe --kind customer --dry-run\n" +
			"  holdfast entity rebuild --provider stripe --rate 500/s --reason INC-42\n" +
			"  holdfast entity rebuild --provider gocardless --fetch\n" +
			"  holdfast entity rebuild --yes --detach      # everything, without waiting\n" +
			"  holdfast rebuild watch|pause|cancel ID",
	}, func(c *cobra.Command, a *cli.API, _ []string) error { return o.run(c, a) })
	cli.AddProviderFlag(command, &o.Provider)
	cli.AddKindFlag(command, &o.Kind, "")
	cli.AddRateFlag(command, &o.Rate, "rate", "events to read")
	cli.AddFetchFlag(command, &o.Fetch)
	cli.AddReasonFlag(command)
	cli.AddStartFlags(command, &o.DryRun)
	cli.AddJSONFlag(command)
	return command
}

type rebuildOptions api.RebuildRequest

func (o *rebuildOptions) run(c *cobra.Command, a *cli.API) error {
	o.Reasoned, o.All = cli.Reasoned(c), o.IsAll()
	question := fmt.Sprintf("Rebuild the entities of %s?", filterOfRebuild(o.RebuildFilter))
	if !o.DryRun && !cli.Confirm(c, question) {
		return errors.New("nothing was started (--yes starts it without asking, --dry-run changes nothing)")
	}
	r, err := rebuilds().Start(c, a, o)
	if r.ID == "" {
		return err
	}
	if r.Until.IsZero() {
		cli.WarnUnknownProvider(c, a.Cfg, o.Provider, 0)
	}
	var diffs httpapi.List[fold.EntityDiff]
	if r.DryRun && r.State == operation.Completed {
		err = errors.Join(err, a.Read(c.Context(), cli.Path("rebuilds", r.ID, "diff"), nil, &diffs))
	}
	return cli.Report(c, struct {
		operation.Rebuild
		Diff []fold.EntityDiff `json:"diff,omitempty"`
	}{r, diffs.Items}, func(w io.Writer) error { return errors.Join(writeRebuild(w, r), writeDiffs(w, diffs.Items)) }, err)
}
