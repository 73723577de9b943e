package main

import (
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
)

func auditCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "audit",
		Short:   "Show what operators did",
		GroupID: groupOperate,
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
		RunE: withTools(func(c *cobra.Command, t *tools, _ []string) error {
			page, err := t.store.AuditLog(c.Context(), query)
			if err != nil {
				return err
			}
			return t.print(c, page, func(w io.Writer) error { return writeAudit(w, page) })
		}),
	}
	command.Flags().StringVar(&query.Actor, "actor", "", "only what this actor did")
	command.Flags().StringVar(&query.Action, "action", "", "only this action, such as dead_letter.discard")
	command.Flags().StringVar(&query.Object, "object", "", "only what was done to this, such as dead_letter:7")
	addPeriodFlags(command, &query.Since, &query.Until)
	addPageFlag(command, &query.Before, "before", "only those before the entry with this number (the next page)")
	addLimitFlag(command, &query.Limit, 50)
	addJSONFlag(command)
	return command
}

func writeAudit(w io.Writer, page []event.AuditEntry) error {
	table := newTable(w, "ID", "AT", "ACTOR", "ROLE", "ACTION", "OBJECT", "REASON", "DETAIL")
	for _, e := range page {
		table.row(strconv.FormatInt(e.ID, 10), e.At.Format(time.RFC3339), e.Actor, e.Role, e.Action, e.Object, e.Reason,
			shorten(string(e.Detail)))
	}
	return table.flush()
}
