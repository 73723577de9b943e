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
	var since, until string
	command := &cobra.Command{
		Use:   "list",
		Short: "List what operators did, newest first",
		Args:  cobra.NoArgs,
		RunE: withTools(func(c *cobra.Command, t *tools, _ []string) (err error) {
			if query.Since, query.Until, err = parsePeriod(since, until); err != nil {
				return err
			}
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
	addPeriodFlags(command, &since, &until)
	command.Flags().Int64Var(&query.Before, "before", 0, "only those before the entry with this number (the next page)")
	command.Flags().IntVar(&query.Limit, "limit", 50, "how many at most, 1 to 500")
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

func addPeriodFlags(c *cobra.Command, since, until *string) {
	c.Flags().StringVar(since, "since", "", "not before: how long ago (90m, 7d) or when (RFC 3339)")
	c.Flags().StringVar(until, "until", "", "before: how long ago (90m, 7d) or when (RFC 3339)")
}

func parsePeriod(since, until string) (from, to time.Time, err error) {
	now := time.Now()
	if from, err = parseMoment(since, now); err != nil {
		return from, to, err
	}
	to, err = parseMoment(until, now)
	return from, to, err
}
