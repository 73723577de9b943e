package admin

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
	command := cli.Page[oversight.AuditEntry]{
		Short: "List what operators did, newest first", Route: "/audit", Limit: 50,
		Example: "  holdfast audit list --since 7d --action dead_letter.discard\n" +
			"  holdfast audit list --object dead_letter:7 --json | jq '.items[].reason'",
		Heading: []string{"ID!", "AT/AGE~", "ACTOR", "ROLE+", "ACTION", "OBJECT", "REASON", "DETAIL+"},
		Cells: func(e oversight.AuditEntry) []string {
			return []string{
				strconv.FormatInt(e.ID, 10), e.At.Format(time.RFC3339), e.Actor, e.Role, string(e.Action), e.Object, e.Reason,
				cli.Shorten(string(e.Detail)),
			}
		},
	}.Command()
	cli.AddFilter(command, "actor", "actor", "only actions of this actor")
	cli.AddChoiceFilter(command, "action", "action", "only this action", oversight.AuditActions())
	cli.AddFilter(command, "object", "object", "only actions on this object, such as dead_letter:7")
	cli.AddPeriodFilters(command)
	return command
}
