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
	"holdfast/operator/api"
)

// InboxCommand returns `holdfast inbox`.
func InboxCommand() *cobra.Command {
	return cli.Group("inbox", "List and show acknowledged events that wait for Temporal",
		"  holdfast inbox list\n  holdfast inbox show stripe:evt_123",
		inboxListCommand(), inboxShowCommand())
}

func inboxListCommand() *cobra.Command {
	command := cli.Page[event.Waiting]{
		Short: "List the events in the inbox, in order of arrival", Route: "/inbox", Limit: 50,
		Example: "  holdfast inbox list --lane overflow\n  holdfast inbox list --provider stripe --limit 500",
		Heading: []string{"NUMBER", "LANE", "WORKFLOW", "EVENT!", "RECEIVED/AGE~", "ATTEMPTS+", "LAST ERROR+"},
		Cells: func(e event.Waiting) []string {
			return []string{
				strconv.FormatInt(e.Seq, 10), string(e.Lane), e.Receipt.WorkflowID(), e.Receipt.ID,
				e.Receipt.ReceivedAt.Format(time.RFC3339), strconv.Itoa(e.Attempts), cli.Shorten(e.LastError),
			}
		},
	}.Command()
	cli.AddChoiceFilter(command, "lane", "lane", "only those in this lane", event.Lanes())
	cli.AddProviderFilters(command)
	return command
}

func inboxShowCommand() *cobra.Command {
	return cli.WithJSON(cli.WithAPI(&cobra.Command{
		Use:     "show ID",
		Short:   "Show one event in the inbox: its age, last error and body",
		Example: "  holdfast inbox show stripe:evt_123",
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		id, err := a.FindEvent(c.Context(), args[0])
		if err != nil {
			return err
		}
		err = cli.Show(c, a, cli.Path("inbox", id), nil, func(w io.Writer, waiting event.Waiting) error {
			var detail api.EventDetail
			if err := a.Read(c.Context(), cli.Path("events", id), nil, &detail); err != nil {
				return err
			}
			return writeWaiting(w, waiting, detail)
		})
		if errors.Is(err, event.ErrNotFound) {
			return cli.NotFound("event %s isn't in the inbox: `holdfast event show %s` shows its status", id, id)
		}
		return err
	}))
}

// writeWaiting prints an event in the inbox.
func writeWaiting(w io.Writer, e event.Waiting, detail api.EventDetail) error {
	status, workflow := fmt.Sprintf("in the inbox, number %d of the lane %s", e.Seq, e.Lane), e.Receipt.WorkflowID()
	var advice string
	switch {
	case !e.Lane.HasRun():
		workflow += " (not started)"
	case detail.Wait != nil:
		status, advice = status+"; "+detail.Wait.Reason, detail.Wait.Advice
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
	return cli.WriteContent(w, e.Receipt.ID, detail.Body)
}
