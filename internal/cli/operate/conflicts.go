package operate

import (
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

// ConflictsCommand is `holdfast conflicts`.
func ConflictsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "conflicts",
		Short:   "Show events that were dropped because another one has their key",
		GroupID: cli.GroupOperate,
	}
	command.AddCommand(conflictsListCommand())
	return command
}

func conflictsListCommand() *cobra.Command {
	var query event.ConflictQuery
	command := &cobra.Command{
		Use:   "list",
		Short: "List conflicts, the last seen first: whose key it is, both fingerprints, how often",
		Args:  cobra.NoArgs,
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, _ []string) error {
			if err := cli.CheckSource(query.Provider, query.Source); err != nil {
				return cli.Misuse(c, err)
			}
			page, err := t.Store.Conflicts(c.Context(), query)
			if err != nil {
				return err
			}
			cli.DoubtProvider(c, t.Cfg, query.Provider, len(page))
			return t.Print(c, page, func(w io.Writer) error { return writeConflicts(w, page) })
		}),
	}
	command.Flags().StringVar(&query.Provider, "provider", "", "only those of this provider")
	cli.AddSourceFlag(command, &query.Source)
	command.Flags().StringVar(&query.Key, "key", "", "only those of this key")
	cli.AddPeriodFlags(command, &query.Since, &query.Until)
	cli.AddPageFlag(command, &query.Before, "before", "only those before the one with this number (the next page)")
	cli.AddLimitFlag(command, &query.Limit, 50)
	cli.AddJSONFlag(command)
	return command
}

func writeConflicts(w io.Writer, page []event.Conflict) error {
	table := cli.NewTable(w, "ID", "LAST SEEN", "TIMES", "PROVIDER", "SOURCE", "KEY", "OWNER", "OWNER'S FINGERPRINT", "FINGERPRINT",
		"FIRST SEEN")
	for _, c := range page {
		table.Row(strconv.FormatInt(c.ID, 10), c.LastSeen.Format(time.RFC3339), strconv.FormatInt(c.Times, 10), c.Provider, c.Source,
			c.Key, c.Owner, c.OwnerFingerprint, c.Fingerprint, c.FirstSeen.Format(time.RFC3339))
	}
	return table.Flush()
}
