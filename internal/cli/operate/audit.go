package operate

import (
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

// AuditCommand is `holdfast audit`.
func AuditCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "audit",
		Short:   "Show what operators did",
		GroupID: cli.GroupOperate,
	}
	command.AddCommand(auditListCommand())
	return command
}

func auditListCommand() *cobra.Command {
	var query event.AuditQuery
	command := &cobra.Command{
		Use:   "list",
		Short: "List what operators did, newest first",
		Args:  cobra.NoArgs,
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, _ []string) error {
			page, err := t.Store.AuditLog(c.Context(), query)
			if err != nil {
				return err
			}
			return t.Print(c, page, func(w io.Writer) error { return writeAudit(w, page) })
		}),
	}
	command.Flags().StringVar(&query.Actor, "actor", "", "only what this actor did")
	cli.AddChoiceFlag(command, &query.Action, "action", "only this action", event.AuditActions())
	command.Flags().StringVar(&query.Object, "object", "", "only what was done to this, such as dead_letter:7")
	cli.AddPeriodFlags(command, &query.Since, &query.Until)
	cli.AddPageFlag(command, &query.Before, "before", "only those before the entry with this number (the next page)")
	cli.AddLimitFlag(command, &query.Limit, 50)
	cli.AddJSONFlag(command)
	return command
}

func writeAudit(w io.Writer, page []event.AuditEntry) error {
	table := cli.NewTable(w, "ID", "AT", "ACTOR", "ROLE", "ACTION", "OBJECT", "REASON", "DETAIL")
	for _, e := range page {
		table.Row(strconv.FormatInt(e.ID, 10), e.At.Format(time.RFC3339), e.Actor, e.Role, string(e.Action), e.Object, e.Reason,
			cli.Shorten(string(e.Detail)))
	}
	return table.Flush()
}
