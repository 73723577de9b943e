package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdfast/event"
)

func inboxCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "inbox",
		Short:   "List and show the events that are acknowledged and wait for Temporal",
		GroupID: groupOperate,
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
		RunE: withTools(func(c *cobra.Command, t *tools, _ []string) error {
			page, err := t.store.Inbox(c.Context(), query)
			if err != nil {
				return err
			}
			doubtProvider(c, t.cfg, query.Provider, len(page))
			return t.print(c, page, func(w io.Writer) error { return writeInbox(w, page) })
		}),
	}
	addChoiceFlag(command, &query.Lane, "lane", "only those in this lane", event.Lanes())
	command.Flags().StringVar(&query.Provider, "provider", "", "only those of this provider")
	addPageFlag(command, &query.After, "after", "only those after the one with this number (the next page)")
	addLimitFlag(command, &query.Limit, 50)
	addJSONFlag(command)
	return command
}

func writeInbox(w io.Writer, page []event.Waiting) error {
	table := newTable(w, "NUMBER", "LANE", "WORKFLOW", "EVENT", "RECEIVED", "ATTEMPTS", "LAST ERROR")
	for _, e := range page {
		table.row(strconv.FormatInt(e.Seq, 10), string(e.Lane), e.Receipt.WorkflowID(), e.Receipt.ID,
			e.Receipt.ReceivedAt.Format(time.RFC3339), strconv.Itoa(e.Attempts), shorten(e.LastError))
	}
	return table.flush()
}

func inboxShowCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "show ID",
		Short: "Show one event that waits, by its ID or its workflow's: since when, why, its body",
		Args:  cobra.ExactArgs(1),
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			waiting, err := findWaiting(c.Context(), t, args[0])
			if err != nil {
				return err
			}
			return t.print(c, waiting, func(w io.Writer) error { return writeWaiting(w, waiting) })
		}),
	}
	addJSONFlag(command)
	return command
}

func findWaiting(ctx context.Context, t *tools, id string) (event.Waiting, error) {
	if uuid.Validate(id) == nil {
		return t.store.WaitingEvent(ctx, id)
	}
	return t.store.WaitingByWorkflow(ctx, id)
}

func writeWaiting(w io.Writer, e event.Waiting) error {
	err := writeFields(w,
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
	return writeBody(w, e.Body)
}
