package operate

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event/oversight"
	"holdfast/event/retention"
	"holdfast/internal/cli"
	"holdfast/internal/stores"
	"holdfast/workflows/runs"
)

// PurgeCommand returns `holdfast purge`.
func PurgeCommand() *cobra.Command {
	var expunge string
	var dryRun bool
	command := &cobra.Command{
		Use:   "purge",
		Short: "Remove data past its retention, or one event's content",
		Long: "Without flags, it runs the scheduled purge now: it removes what is older than\n" +
			"HOLDFAST_RETENTION_…. Events stay until Temporal has deleted their\n" +
			"runs. Where HOLDFAST_ARCHIVE is set, events and dead letters are written there first;\n" +
			"`holdfast import` reads them.\n\n" +
			"With --expunge it removes the content of one event everywhere, in PostgreSQL, in\n" +
			"Temporal and in the archive, whatever its age. The event's key stays, so that a redelivery is a\n" +
			"duplicate, and an audit row says who did it and why. Entities are folded again without the event.\n" +
			"Where an earlier purge has removed their changes they are recomputed from the archive, or marked\n" +
			"incomplete; --dry-run shows which.",
		Example: "  holdfast purge\n  holdfast purge --expunge stripe:evt_123 --dry-run\n" +
			"  holdfast purge --expunge stripe:evt_123 --reason 'asked by the customer'",
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, _ []string) error {
			if expunge != "" {
				return expungeEvent(c, t, expunge, dryRun, cli.ActorOf(c))
			}
			if dryRun {
				return cli.UsageError(c, errors.New("--dry-run is for --expunge: a purge has no plan"))
			}
			return purgeExpired(c, t, cli.ActorOf(c))
		}),
	}
	command.Flags().StringVar(&expunge, "expunge", "", "the event to remove: its ID, workflow ID, key or dead letter")
	cli.AddDryRunFlag(command, &dryRun)
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

func purgeExpired(c *cobra.Command, t *cli.Tools, by oversight.Actor) error {
	removed := map[retention.Kind]int64{}
	purger, err := stores.NewPurger(t.Cfg, t.Store)
	if err != nil {
		return err
	}
	keep := stores.Retention(t.Cfg)
	if keep[retention.Events] > 0 {
		ofRuns, err := runs.Namespace{Client: t.Temporal, Name: t.Cfg.Temporal.Namespace}.Retention(c.Context())
		if err != nil {
			return err
		}
		keep = keep.OutlastingRuns(ofRuns)
	}
	var failed error
	for _, kind := range retention.All() {
		before, ok := keep.Until(kind, time.Now())
		if !ok {
			continue
		}
		n, err := purgeAll(c.Context(), purger, kind, before, by)
		removed[kind], failed = n, errors.Join(failed, err)
	}
	return errors.Join(failed, printPurged(c, removed))
}

func printPurged(c *cobra.Command, removed map[retention.Kind]int64) error {
	return cli.Print(c, removed, func(w io.Writer) error {
		table := cli.NewTable(w, "KEPT", "REMOVED")
		for _, kind := range retention.All() {
			if n, ok := removed[kind]; ok {
				table.Row(string(kind), strconv.FormatInt(n, 10))
			} else {
				table.Row(string(kind), "kept forever")
			}
		}
		return table.Flush()
	})
}

func purgeAll(
	ctx context.Context, purger stores.Purger, kind retention.Kind, before time.Time, by oversight.Actor,
) (total int64, err error) {
	for {
		n, err := purger.PurgeBatchBy(ctx, kind, before, by)
		if total += n; err != nil || n == 0 {
			return total, err
		}
	}
}
