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
	return cli.Group("inbox", "List and show the events that are acknowledged and wait for Temporal",
		inboxListCommand(), inboxShowCommand())
}

func inboxListCommand() *cobra.Command {
	var query event.InboxQuery
	command := cli.ListCommand("List what waits in the inbox, in the order of arrival",
		func(c *cobra.Command, t *cli.Tools) ([]event.Waiting, error) {
			return t.Store.Inbox(c.Context(), query)
		},
		[]string{"NUMBER", "LANE", "WORKFLOW", "EVENT", "RECEIVED", "ATTEMPTS", "LAST ERROR"},
		func(e event.Waiting) []string {
			return []string{
				strconv.FormatInt(e.Seq, 10), string(e.Lane), e.Receipt.WorkflowID(), e.Receipt.ID,
				e.Receipt.ReceivedAt.Format(time.RFC3339), strconv.Itoa(e.Attempts), cli.Shorten(e.LastError),
			}
		})
	cli.AddChoiceFlag(command, &query.Lane, "lane", "only those in this lane", event.Lanes())
	cli.AddProviderFlags(command, &query.Provider, &query.Source)
	cli.AddPageFlag(command, &query.After, "after", "only those after the one with this number (the next page)")
	cli.AddLimitFlag(command, &query.Limit, 50)
	return command
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
			return cli.Print(c, waiting, func(w io.Writer) error { return writeWaiting(w, waiting) })
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
