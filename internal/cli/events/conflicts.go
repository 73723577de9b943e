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
	return cli.Group("conflict", "List events whose key belongs to an event with different content",
		"  holdfast conflict list --provider stripe --since 24h",
		conflictListCommand())
}

func conflictListCommand() *cobra.Command {
	command := cli.Page[event.Conflict]{
		Short: "List conflicts, the last seen first: the key's owner, the count", Route: "/conflicts", Limit: 50,
		Example: "  holdfast conflict list --provider stripe --since 24h\n  holdfast conflict list --key evt_123 --wide",
		Heading: []string{"ID!", "LAST SEEN/AGE~", "TIMES", "PROVIDER", "SOURCE+", "KEY", "OWNER!", "OWNER'S FINGERPRINT+",
			"FINGERPRINT+", "FIRST SEEN+~"},
		Cells: func(c event.Conflict) []string {
			return []string{
				strconv.FormatInt(c.ID, 10), c.LastSeen.Format(time.RFC3339), strconv.FormatInt(c.Times, 10), c.Provider, c.Source,
				c.Key, c.Owner, c.OwnerFingerprint, c.Fingerprint, c.FirstSeen.Format(time.RFC3339),
			}
		},
	}.Command()
	cli.AddProviderFilters(command)
	cli.AddKeyFilter(command)
	cli.AddPeriodFilters(command)
	return command
}
