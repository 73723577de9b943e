package admin

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event/retention"
	"holdfast/internal/cli"
	"holdfast/operator/api"
)

// PurgeCommand returns `holdfast purge`.
func PurgeCommand() *cobra.Command {
	var expunge string
	var dryRun bool
	command := cli.WithAPI(&cobra.Command{
		Use:   "purge",
		Short: "Remove data past its retention, or one event's content",
		Long: "Without --expunge, it runs the scheduled purge now: it removes what is older than\n" +
			"HOLDFAST_RETENTION_…. On a terminal it shows the plan and asks first. Events stay until\n" +
			"Temporal has deleted their runs. Where HOLDFAST_ARCHIVE is set, events and dead letters\n" +
			"are written there first; `holdfast import` reads them.\n\n" +
			"With --expunge it removes the content of one event everywhere, in PostgreSQL, in\n" +
			"Temporal and in the archive, whatever its age. The event's key stays, so that a redelivery is a\n" +
			"duplicate, and an audit row says who did it and why. Entities are folded again without the event.\n" +
			"Where an earlier purge has removed their changes they are recomputed from the archive, or marked\n" +
			"incomplete; --dry-run shows which.",
		Example: "  holdfast purge --dry-run\n  holdfast purge --expunge stripe:evt_123 --dry-run\n" +
			"  holdfast purge --expunge stripe:evt_123 --reason 'asked by the customer'",
	}, func(c *cobra.Command, a *cli.API, _ []string) error {
		if expunge != "" {
			return expungeEvent(c, a, expunge, dryRun)
		}
		return purgeExpired(c, a, dryRun)
	})
	command.Flags().StringVar(&expunge, "expunge", "", "the event to remove: its ID, workflow ID, key or dead letter")
	cli.AddDryRunFlag(command, &dryRun)
	cli.AddYesFlag(command, "do not ask")
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

func purgeExpired(c *cobra.Command, a *cli.API, dryRun bool) error {
	if dryRun || cli.Asks(c) {
		var plan api.Purged
		if err := a.Change(c.Context(), http.MethodPost, "/purge", api.PurgeRequest{DryRun: true}, &plan); err != nil {
			return err
		}
		shown := func(w io.Writer) error { return writePurgePlan(w, plan.Before) }
		if ok, err := cli.ConfirmPlan(c, plan.Before, shown, dryRun, "Remove this data?"); !ok {
			return err
		}
	}
	var done api.Purged
	if err := a.Change(c.Context(), http.MethodPost, "/purge", cli.Reasoned(c), &done); err != nil {
		return err
	}
	return errors.Join(problemOf(done.Problem), printPurged(c, done.Removed))
}

// problemOf returns the error of work that is done except for a part.
func problemOf(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(cli.Printable(text))
}

func writePurgePlan(w io.Writer, before map[retention.Kind]time.Time) error {
	table := cli.NewTable(w, "KEPT", "REMOVED IF OLDER THAN")
	for _, kind := range retention.All() {
		if at, ok := before[kind]; ok {
			table.Row(string(kind), cli.TimeText(at))
		} else {
			table.Row(string(kind), "kept forever")
		}
	}
	return table.Flush()
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
