package operate

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

// ConflictsCommand is `holdfast conflicts`.
func ConflictsCommand() *cobra.Command {
	return cli.Group("conflicts", "Show events that were dropped because another one has their key",
		conflictsListCommand())
}

func conflictsListCommand() *cobra.Command {
	var query event.ConflictQuery
	command := cli.ListCommand("List conflicts, the last seen first: whose key it is, both fingerprints, how often",
		func(c *cobra.Command, t *cli.Tools) ([]event.Conflict, error) {
			return t.Store.Conflicts(c.Context(), query)
		},
		[]string{"ID", "LAST SEEN", "TIMES", "PROVIDER", "SOURCE", "KEY", "OWNER", "OWNER'S FINGERPRINT", "FINGERPRINT",
			"FIRST SEEN"},
		func(c event.Conflict) []string {
			return []string{
				strconv.FormatInt(c.ID, 10), c.LastSeen.Format(time.RFC3339), strconv.FormatInt(c.Times, 10), c.Provider, c.Source,
				c.Key, c.Owner, c.OwnerFingerprint, c.Fingerprint, c.FirstSeen.Format(time.RFC3339),
			}
		})
	cli.AddProviderFlags(command, &query.Provider, &query.Source)
	command.Flags().StringVar(&query.Key, "key", "", "only those of this key")
	cli.AddPeriodFlags(command, &query.Since, &query.Until)
	cli.AddPageFlag(command, &query.Before, "before", "only those before the one with this number (the next page)")
	cli.AddLimitFlag(command, &query.Limit, 50)
	return command
}
