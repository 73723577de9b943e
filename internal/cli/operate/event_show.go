package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
	"holdfast/internal/cli/deadletter"
)

func eventShowCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "show ID",
		Short: "Show one event, by its ID, its workflow's, its dead letter's or its request's: where it stands, its entities, its body",
		Args:  cobra.ExactArgs(1),
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			return showEvent(c, t, args[0])
		}),
	}
	cli.AddJSONFlag(command)
	return command
}

// showEvent shows the event wherever it is: it may wait in the inbox still, have died before it had a row, or be gone but for the
// verdict on it.
func showEvent(c *cobra.Command, t *cli.Tools, id string) error {
	ctx := c.Context()
	if number, err := strconv.ParseInt(id, 10, 64); err == nil {
		letter, err := t.Store.DeadLetter(ctx, number)
		if err != nil {
			return err
		}
		return deadletter.Print(c, letter)
	}
	record, err := findEvent(ctx, t, id)
	if err == nil {
		return printEvent(c, t, record)
	}
	if !errors.Is(err, event.ErrNotFound) {
		return err
	}
	if waiting, err := findWaiting(ctx, t, id); err == nil {
		return cli.Print(c, waiting, func(w io.Writer) error { return writeWaiting(w, waiting) })
	}
	if eventID, unknown := eventIDOf(ctx, t, id); unknown == nil {
		if letter, err := t.Store.DeadLetterOfEvent(ctx, eventID); err == nil {
			return deadletter.Print(c, letter)
		}
		if verdict, err := t.Store.Verdict(ctx, eventID); err == nil {
			return cli.Print(c, verdict, func(w io.Writer) error { return writeVerdict(w, verdict) })
		}
		if conflict, err := t.Store.ConflictOfEvent(ctx, eventID); err == nil {
			return cli.Print(c, conflict, func(w io.Writer) error { return writeDropped(w, conflict) })
		}
	}
	if ids, unknown := t.Store.EventsOfRequest(ctx, id); unknown == nil {
		return showRequest(c, t, id, ids)
	}
	return err
}

// showRequest shows the event of a request, or names them where it brought several.
func showRequest(c *cobra.Command, t *cli.Tools, id string, events []string) error {
	if len(events) == 1 {
		return showEvent(c, t, events[0])
	}
	brought := struct {
		RequestID string   `json:"request_id"`
		EventIDs  []string `json:"event_ids"`
	}{id, events}
	return cli.Print(c, brought, func(w io.Writer) error {
		fmt.Fprintf(w, "request %s brought %d events:\n", id, len(events))
		for _, e := range events {
			fmt.Fprintln(w, e)
		}
		return nil
	})
}

// printEvent shows a stored event, and what was decided about it.
func printEvent(c *cobra.Command, t *cli.Tools, r event.Record) error {
	shown := struct {
		event.Record

		Verdict *event.Verdict `json:"verdict,omitempty"`
	}{Record: r}
	verdict, err := t.Store.Verdict(c.Context(), r.Receipt.ID)
	if err == nil {
		shown.Verdict = &verdict
	} else if !errors.Is(err, event.ErrNotFound) {
		return err
	}
	return cli.Print(c, shown, func(w io.Writer) error { return writeEvent(w, r, shown.Verdict) })
}

func writeDropped(w io.Writer, c event.Conflict) error {
	return cli.WriteFields(w,
		"event", c.EventID,
		"status", "dropped: another event has its key",
		"provider", c.Provider,
		"source", c.Source,
		"key", c.Key,
		"owner of the key", c.Owner,
		"received", c.LastSeen.Format(time.RFC3339Nano),
	)
}

func writeVerdict(w io.Writer, v event.Verdict) error {
	return cli.WriteFields(w,
		"event", v.EventID,
		"status", string(v.Outcome),
		"by", v.By,
		"at", v.At.Format(time.RFC3339Nano),
		"because", v.Reason,
		"replaced by event", v.ReplacedBy,
	)
}

func findEvent(ctx context.Context, t *cli.Tools, id string) (event.Record, error) {
	if uuid.Validate(id) == nil {
		return t.Store.Event(ctx, id)
	}
	if provider, key, ok := event.SplitWorkflowID(id); ok {
		return t.Store.EventByKey(ctx, provider, key)
	}
	return event.Record{}, fmt.Errorf("%q is neither the ID of an event (a UUID) nor of a workflow (provider:key)", id)
}

func writeEvent(w io.Writer, r event.Record, v *event.Verdict) error {
	var processed string
	if r.ProcessedAt != nil {
		processed = fmt.Sprintf("%s (%s after receipt)",
			r.ProcessedAt.Format(time.RFC3339Nano), r.ProcessedAt.Sub(r.Receipt.ReceivedAt).Round(time.Millisecond))
	}
	status := string(r.Status)
	if r.Outcome != "" {
		status += " (" + string(r.Outcome) + ")"
	}
	err := cli.WriteFields(w,
		"event", r.Receipt.ID,
		"status", status,
		"provider", r.Receipt.Provider,
		"source", r.Receipt.Source,
		"type", r.Type,
		"key", fmt.Sprintf("%s (from %s)", r.Receipt.Key, r.Receipt.KeyFrom),
		"workflow", r.Run.WorkflowID,
		"run", r.Run.RunID,
		"occurred", r.OccurredAt.Format(time.RFC3339Nano),
		"received", r.Receipt.ReceivedAt.Format(time.RFC3339Nano),
		"processed", processed,
		"request", r.Receipt.RequestID,
		"correlation", r.Receipt.CorrelationID,
		"projection", r.PayloadNote,
		"replaces event", r.Receipt.Replaces,
	)
	if err != nil {
		return err
	}
	if v != nil {
		err := cli.WriteFields(w, "decided", string(v.Outcome), "by", v.By, "at", v.At.Format(time.RFC3339Nano), "because", v.Reason,
			"replaced by event", v.ReplacedBy)
		if err != nil {
			return err
		}
	}
	if err := writeLinks(w, r.Links); err != nil {
		return err
	}
	return cli.WriteBody(w, r.Body)
}

func writeLinks(w io.Writer, links []event.Link) error {
	if len(links) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := cli.NewTable(w, "ENTITY", "CHANGE", "STATE")
	for _, l := range links {
		table.Row(l.Kind+" "+l.ExternalID, string(l.Op), cli.Shorten(string(l.State)))
	}
	return table.Flush()
}

// eventIDOf takes the ID of an event or of a workflow.
func eventIDOf(ctx context.Context, t *cli.Tools, argument string) (string, error) {
	if uuid.Validate(argument) == nil {
		return argument, nil
	}
	if _, _, ok := event.SplitWorkflowID(argument); !ok {
		return "", fmt.Errorf("%q is neither the ID of an event (a UUID) nor of a workflow (provider:key)", argument)
	}
	return t.Store.EventOfWorkflow(ctx, argument)
}
