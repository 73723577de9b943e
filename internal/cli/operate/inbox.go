package operate

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

// InboxCommand is `holdfast inbox`.
func InboxCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "inbox",
		Short:   "List and show the events that are acknowledged and wait for Temporal",
		GroupID: cli.GroupOperate,
	}
	command.AddCommand(inboxListCommand(), inboxShowCommand())
	return command
}

func inboxListCommand() *cobra.Command {
	var query event.InboxQuery
	command := &cobra.Command{
		Use:   "list",
		Short: "List what waits in the inbox, in the order of arrival",
		Args:  cobra.NoArgs,
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, _ []string) error {
			if err := cli.CheckSource(query.Provider, query.Source); err != nil {
				return cli.Misuse(c, err)
			}
			page, err := t.Store.Inbox(c.Context(), query)
			if err != nil {
				return err
			}
			cli.DoubtProvider(c, t.Cfg, query.Provider, len(page))
			return t.Print(c, page, func(w io.Writer) error { return writeInbox(w, page) })
		}),
	}
	cli.AddChoiceFlag(command, &query.Lane, "lane", "only those in this lane", event.Lanes())
	command.Flags().StringVar(&query.Provider, "provider", "", "only those of this provider")
	cli.AddSourceFlag(command, &query.Source)
	cli.AddPageFlag(command, &query.After, "after", "only those after the one with this number (the next page)")
	cli.AddLimitFlag(command, &query.Limit, 50)
	cli.AddJSONFlag(command)
	return command
}

func writeInbox(w io.Writer, page []event.Waiting) error {
	table := cli.NewTable(w, "NUMBER", "LANE", "WORKFLOW", "EVENT", "RECEIVED", "ATTEMPTS", "LAST ERROR")
	for _, e := range page {
		table.Row(strconv.FormatInt(e.Seq, 10), string(e.Lane), e.Receipt.WorkflowID(), e.Receipt.ID,
			e.Receipt.ReceivedAt.Format(time.RFC3339), strconv.Itoa(e.Attempts), cli.Shorten(e.LastError))
	}
	return table.Flush()
}

func inboxShowCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "show ID",
		Short: "Show one event that waits, by its ID or its workflow's: since when, why, its body",
		Args:  cobra.ExactArgs(1),
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			waiting, err := findWaiting(c.Context(), t, args[0])
			if err != nil {
				return err
			}
			return t.Print(c, waiting, func(w io.Writer) error { return writeWaiting(w, waiting) })
		}),
	}
	cli.AddJSONFlag(command)
	return command
}

func findWaiting(ctx context.Context, t *cli.Tools, id string) (event.Waiting, error) {
	if uuid.Validate(id) == nil {
		return t.Store.WaitingEvent(ctx, id)
	}
	return t.Store.WaitingByWorkflow(ctx, id)
}

func writeWaiting(w io.Writer, e event.Waiting) error {
	err := cli.WriteFields(w,
		"event", e.Receipt.ID,
		"status", fmt.Sprintf("in the inbox, number %d of the lane %s", e.Seq, e.Lane),
		"provider", e.Receipt.Provider,
		"source", e.Receipt.Source,
		"type", e.Receipt.Type,
		"key", fmt.Sprintf("%s (from %s)", e.Receipt.Key, e.Receipt.KeyFrom),
		"workflow", e.Receipt.WorkflowID()+" (not started)",
		"received", e.Receipt.ReceivedAt.Format(time.RFC3339Nano),
		"attempts", strconv.Itoa(e.Attempts),
		"last error", e.LastError,
		"due", e.DueAt.Format(time.RFC3339Nano),
		"request", e.Receipt.RequestID,
		"correlation", e.Receipt.CorrelationID,
	)
	if err != nil {
		return err
	}
	return cli.WriteBody(w, e.Body)
}
