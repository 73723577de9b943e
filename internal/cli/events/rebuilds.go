package events

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/internal/cli"
	"holdfast/operator/httpapi"
	"holdfast/operator/redrive"
)

// RebuildCommand returns `holdfast rebuild`.
func RebuildCommand() *cobra.Command {
	return cli.Group("rebuild", "List, pause and cancel rebuilds started by `entity rebuild`",
		"  holdfast rebuild list\n  holdfast rebuild watch 20261122-161500-k3xq",
		append(rebuilds().Commands(), diffCommand())...)
}

func rebuilds() cli.Operations[operation.Rebuild] {
	return cli.Operations[operation.Rebuild]{
		Kind:    operation.KindRebuild,
		Of:      func(t *cli.Tools) *redrive.Operations[operation.Rebuild] { return &t.Rebuilds().Operations },
		Heading: []string{"DRY RUN+", "READ", "CHANGED", "UNREADABLE", "SKIPPED+", "ENTITIES+"},
		Cells: func(r operation.Rebuild) []string {
			return []string{
				fmt.Sprint(r.DryRun), cli.Number(r.Read), cli.Number(r.Changed), cli.Number(r.Unreadable), cli.Number(r.Skipped),
				cli.Number(r.Entities),
			}
		},
		Write: writeRebuild,
		Line: func(r operation.Rebuild) string {
			return fmt.Sprintf("%d events read: %d changed, %d unreadable, %d skipped; %d entities differ (%s)",
				r.Read, r.Changed, r.Unreadable, r.Skipped, r.Entities, r.State)
		},
		End: func(r operation.Rebuild) (bool, error) {
			if r.State.Ended() && r.Unreadable > 0 {
				return true, fmt.Errorf("%d of %d events could not be read and are unchanged: holdfast rebuild show %s",
					r.Unreadable, r.Read, r.ID)
			}
			return r.State.Ended(), nil
		},
	}
}

func diffCommand() *cobra.Command {
	return cli.WithJSON(&cobra.Command{
		Use:     "diff ID",
		Short:   "Show how a dry run would change some entities",
		Long:    "Show how a dry run would change some entities. Only the latest rebuild has a diff.",
		Example: "  holdfast rebuild diff 20261122-161500-k3xq",
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			diffs, err := t.Rebuilds().Diff(c.Context(), args[0])
			if errors.Is(err, event.ErrNotFound) {
				return cli.NotFound("%q has no diff. Only the latest rebuild has one, and only if it was a dry run: see `holdfast rebuild list`",
					args[0])
			}
			if err != nil {
				return err
			}
			page := httpapi.List[fold.EntityDiff]{Items: append([]fold.EntityDiff{}, diffs...)}
			return cli.Print(c, page, func(w io.Writer) error { return writeDiffs(w, diffs) })
		}),
	})
}

func filterOfRebuild(f operation.RebuildFilter) string {
	return cmp.Or(f.Provider, "all providers") + ", " + cmp.Or(f.Kind, "all kinds")
}

func writeRebuild(w io.Writer, r operation.Rebuild) error {
	var dry, reached string
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
		"rate", cli.RateText(r.Rate),
		"reached", reached,
		"events read", cli.Number(r.Read),
		"changed", cli.Number(r.Changed),
		"unreadable", cli.Number(r.Unreadable),
		"skipped", cli.Number(r.Skipped),
		"entities that differ", cli.Number(r.Entities),
		"started", r.StartedAt.Format(time.RFC3339)+" by "+r.StartedBy,
		"ended", cli.OptionalTimeText(r.EndedAt),
	)
	if err != nil || len(r.Problems) == 0 {
		return err
	}
	table := cli.NewTable(w, "UNREADABLE EVENT!", "PROVIDER", "CLASS+", "CODE", "MESSAGE")
	for _, p := range r.Problems {
		table.Row(p.EventID, p.Provider, string(p.Class), p.Code, cli.Shorten(p.Message))
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
			fmt.Fprintf(w, "  %s: %s → %s\n", cli.Printable(f.Path), valueText(f.Old), valueText(f.New))
		}
	}
	return nil
}

// valueText formats a value of a diff; "-" for none.
func valueText(v json.RawMessage) string {
	if v == nil {
		return "-"
	}
	return cli.Shorten(string(v))
}
