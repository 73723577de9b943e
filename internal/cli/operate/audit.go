package operate

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

// AuditCommand is `holdfast audit`.
func AuditCommand() *cobra.Command {
	return cli.Group("audit", "Show what operators did",
		auditListCommand())
}

func auditListCommand() *cobra.Command {
	var query event.AuditQuery
	command := cli.ListCommand("List what operators did, newest first",
		func(c *cobra.Command, t *cli.Tools) ([]event.AuditEntry, error) {
			return t.Store.AuditLog(c.Context(), query)
		},
		[]string{"ID", "AT", "ACTOR", "ROLE", "ACTION", "OBJECT", "REASON", "DETAIL"},
		func(e event.AuditEntry) []string {
			return []string{
				strconv.FormatInt(e.ID, 10), e.At.Format(time.RFC3339), e.Actor, e.Role, string(e.Action), e.Object, e.Reason,
				cli.Shorten(string(e.Detail)),
			}
		})
	command.Flags().StringVar(&query.Actor, "actor", "", "only what this actor did")
	cli.AddChoiceFlag(command, &query.Action, "action", "only this action", event.AuditActions())
	command.Flags().StringVar(&query.Object, "object", "", "only what was done to this, such as dead_letter:7")
	cli.AddPeriodFlags(command, &query.Since, &query.Until)
	cli.AddPageFlag(command, &query.Before, "before", "only those before the entry with this number (the next page)")
	cli.AddLimitFlag(command, &query.Limit, 50)
	return command
}
