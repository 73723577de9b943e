package events

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

// ConflictCommand returns `holdfast conflict`.
func ConflictCommand() *cobra.Command {
	group := cli.Group("conflict", "List events whose key belongs to an event with different content",
		"  holdfast conflict list --provider stripe --since 24h",
		conflictListCommand())
	group.Aliases = []string{"conflicts"}
	return group
}

func conflictListCommand() *cobra.Command {
	var query event.ConflictQuery
	command := cli.Listing[event.Conflict, int64]{
		Short:   "List conflicts, the last seen first: the key's owner, the count",
		Example: "  holdfast conflict list --provider stripe --since 24h\n  holdfast conflict list --key evt_123 --wide",
		Limit:   50, Place: func(c event.Conflict) int64 { return c.ID },
		Read: func(c *cobra.Command, t *cli.Tools, limit int, after *int64) ([]event.Conflict, error) {
			query.Limit, query.Before = limit, cli.LastID(after)
			return t.Store.Read.Conflicts(c.Context(), query)
		},
		Heading: []string{"ID!", "LAST SEEN/AGE~", "TIMES", "PROVIDER", "SOURCE+", "KEY", "OWNER!", "OWNER'S FINGERPRINT+",
			"FINGERPRINT+", "FIRST SEEN+~"},
		Cells: func(c event.Conflict) []string {
			return []string{
				strconv.FormatInt(c.ID, 10), c.LastSeen.Format(time.RFC3339), strconv.FormatInt(c.Times, 10), c.Provider, c.Source,
				c.Key, c.Owner, c.OwnerFingerprint, c.Fingerprint, c.FirstSeen.Format(time.RFC3339),
			}
		},
	}.Command()
	cli.AddProviderFlags(command, &query.Provider, &query.Source)
	cli.AddKeyFlag(command, &query.Key)
	cli.AddPeriodFlags(command, &query.Since, &query.Until)
	return command
}
