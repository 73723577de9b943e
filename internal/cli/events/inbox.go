package events

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

// InboxCommand returns `holdfast inbox`.
func InboxCommand() *cobra.Command {
	return cli.Group("inbox", "List and show acknowledged events that wait for Temporal",
		"  holdfast inbox list\n  holdfast inbox show stripe:evt_123",
		inboxListCommand(), inboxShowCommand())
}

func inboxListCommand() *cobra.Command {
	var query event.InboxQuery
	command := cli.Listing[event.Waiting, int64]{
		Short:   "List the events in the inbox, in order of arrival",
		Example: "  holdfast inbox list --lane overflow\n  holdfast inbox list --provider stripe --limit 500",
		Limit:   50, Place: func(e event.Waiting) int64 { return e.Seq },
		Read: func(c *cobra.Command, t *cli.Tools, limit int, after *int64) ([]event.Waiting, error) {
			query.Limit, query.After = limit, cli.LastID(after)
			return t.Store.Inbox.Inbox(c.Context(), query)
		},
		Heading: []string{"NUMBER", "LANE", "WORKFLOW", "EVENT!", "RECEIVED/AGE~", "ATTEMPTS+", "LAST ERROR+"},
		Cells: func(e event.Waiting) []string {
			return []string{
				strconv.FormatInt(e.Seq, 10), string(e.Lane), e.Receipt.WorkflowID(), e.Receipt.ID,
				e.Receipt.ReceivedAt.Format(time.RFC3339), strconv.Itoa(e.Attempts), cli.Shorten(e.LastError),
			}
		},
	}.Command()
	cli.AddChoiceFlag(command, &query.Lane, "lane", "only those in this lane", event.Lanes())
	cli.AddProviderFlags(command, &query.Provider, &query.Source)
	return command
}

func inboxShowCommand() *cobra.Command {
	return cli.WithJSON(&cobra.Command{
		Use:     "show ID",
		Short:   "Show one event in the inbox: its age, last error and body",
		Example: "  holdfast inbox show stripe:evt_123",
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			id, err := t.FindEvent(c.Context(), args[0])
			if err != nil {
				return err
			}
			waiting, err := t.Store.Inbox.WaitingEvent(c.Context(), id)
			if errors.Is(err, event.ErrNotFound) {
				return cli.NotFound("event %s isn't in the inbox: `holdfast event show %s` shows its status", id, id)
			}
			if err != nil {
				return err
			}
			return cli.Print(c, waiting, func(w io.Writer) error {
				detail, err := reader(t).EventDetail(c.Context(), id, false)
				if err != nil && !errors.Is(err, event.ErrNotFound) {
					return err
				}
				return writeWaiting(w, waiting, detail.Wait)
			})
		}),
	})
}

// writeWaiting prints an event in the inbox; wait is nil if it has left the inbox in the meantime.
func writeWaiting(w io.Writer, e event.Waiting, wait *event.Wait) error {
	status, workflow := fmt.Sprintf("in the inbox, number %d of the lane %s", e.Seq, e.Lane), e.Receipt.WorkflowID()
	var advice string
	switch {
	case !e.Lane.HasRun():
		workflow += " (not started)"
	case wait != nil:
		status, advice = status+"; "+wait.Reason, wait.Advice
	}
	err := cli.WriteFields(w,
		"event", e.Receipt.ID,
		"status", status,
		"provider", e.Receipt.Provider,
		"source", e.Receipt.Source,
		"type", e.Receipt.Type,
		"key", fmt.Sprintf("%s (from %s)", e.Receipt.Key, e.Receipt.KeyFrom),
		"workflow", workflow,
		"next step", advice,
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
	return cli.WriteBody(w, e.Receipt.ID, e.Body)
}
