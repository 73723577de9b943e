package operate

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event/oversight"
	"holdfast/internal/cli"
)

// AuditCommand returns `holdfast audit`.
func AuditCommand() *cobra.Command {
	return cli.Group("audit", "List what operators did",
		"  holdfast audit list --since 7d",
		auditListCommand())
}

func auditListCommand() *cobra.Command {
	var query oversight.AuditQuery
	command := cli.Listing[oversight.AuditEntry, int64]{
		Short: "List what operators did, newest first",
		Example: "  holdfast audit list --since 7d --action dead_letter.discard\n" +
			"  holdfast audit list --object dead_letter:7 --json | jq '.items[].reason'",
		Limit: 50, Place: func(e oversight.AuditEntry) int64 { return e.ID },
		Read: func(c *cobra.Command, t *cli.Tools, limit int, after *int64) ([]oversight.AuditEntry, error) {
			query.Limit, query.Before = limit, cli.LastID(after)
			return t.Store.Audit.AuditLog(c.Context(), query)
		},
		Heading: []string{"ID!", "AT/AGE~", "ACTOR", "ROLE+", "ACTION", "OBJECT", "REASON", "DETAIL+"},
		Cells: func(e oversight.AuditEntry) []string {
			return []string{
				strconv.FormatInt(e.ID, 10), e.At.Format(time.RFC3339), e.Actor, e.Role, string(e.Action), e.Object, e.Reason,
				cli.Shorten(string(e.Detail)),
			}
		},
	}.Command()
	command.Flags().StringVar(&query.Actor, "actor", "", "only actions of this actor")
	cli.AddChoiceFlag(command, &query.Action, "action", "only this action", oversight.AuditActions())
	command.Flags().StringVar(&query.Object, "object", "", "only actions on this object, such as dead_letter:7")
	cli.AddPeriodFlags(command, &query.Since, &query.Until)
	return command
}
