package deadletter

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event/operation"
	"holdfast/internal/cli"
)

func causesCommand() *cobra.Command {
	var provider string
	command := cli.Listing[operation.Cause, string]{
		Short:   "Group waiting dead letters by cause",
		Example: "  holdfast dlq causes\n  holdfast dlq causes --provider stripe --json | jq '.items[].code'",
		Read: func(c *cobra.Command, t *cli.Tools, _ int, _ *string) ([]operation.Cause, error) {
			return t.Store.DeadLetters.Causes(c.Context(), provider)
		},
		Heading: []string{"COUNT", "OPEN+", "EXHAUSTED+", "REDRIVING+", "PROVIDER", "STEP", "SUBSCRIPTION", "CLASS+", "CODE", "RULE",
			"OLDEST+~", "NEWEST/AGE~", "EXAMPLE!"},
		Cells: func(c operation.Cause) []string {
			return []string{
				strconv.FormatInt(c.Count(), 10), strconv.FormatInt(c.Open, 10), strconv.FormatInt(c.Exhausted, 10),
				strconv.FormatInt(c.Redriving, 10), c.Provider, string(c.Step), c.Subscription, string(c.Class), c.Code, c.Rule,
				c.Oldest.Format(time.RFC3339), c.Newest.Format(time.RFC3339), strconv.FormatInt(c.Example, 10),
			}
		},
	}.Command()
	command.Use = "causes"
	cli.AddProviderFlag(command, &provider)
	return command
}
