package operate

import (
	"context"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
	"holdfast/internal/installation"
)

// PurgeCommand is `holdfast purge`.
func PurgeCommand() *cobra.Command {
	var expunge string
	command := &cobra.Command{
		Use:   "purge",
		Short: "Remove now what has been kept for long enough, or one event's content for good",
		Long: `Without flags it does at once what the schedule does anyway: it removes what is older than HOLDFAST_RETENTION_… says.

With --expunge it removes the content of one event everywhere, in PostgreSQL and in Temporal, whatever its age. The event's key
stays, so that a redelivery is a duplicate, and an audit row says who did it and why.`,
		GroupID: cli.GroupOperate,
		Args:    cobra.NoArgs,
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, _ []string) error {
			if expunge != "" {
				return expungeEvent(c, t, expunge, cli.ActorOf(c))
			}
			return purgeExpired(c, t, cli.ActorOf(c))
		}),
	}
	command.Flags().StringVar(&expunge, "expunge", "", "the event (event id or workflow id) whose content is removed")
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

func purgeExpired(c *cobra.Command, t *cli.Tools, by event.Actor) error {
	keep, removed := installation.Retention(t.Cfg), map[event.Kept]int64{}
	for _, kept := range event.AllKept() {
		before, ok := keep.Until(kept, time.Now())
		if !ok {
			continue
		}
		n, err := purgeAll(c.Context(), t, kept, before, by)
		if err != nil {
			return err
		}
		removed[kept] = n
	}
	return cli.Print(c, removed, func(w io.Writer) error {
		table := cli.NewTable(w, "KEPT", "REMOVED")
		for _, kept := range event.AllKept() {
			if n, ok := removed[kept]; ok {
				table.Row(string(kept), strconv.FormatInt(n, 10))
			} else {
				table.Row(string(kept), "kept for ever")
			}
		}
		return table.Flush()
	})
}

func purgeAll(ctx context.Context, t *cli.Tools, kept event.Kept, before time.Time, by event.Actor) (total int64, err error) {
	for {
		n, err := t.Store.PurgeBatchBy(ctx, kept, before, by)
		if total += n; err != nil || n == 0 {
			return total, err
		}
	}
}
