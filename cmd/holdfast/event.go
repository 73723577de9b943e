package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdfast/event"
)

func eventCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "event",
		Short:   "List and show events",
		GroupID: groupOperate,
	}
	command.AddCommand(eventListCommand(), eventShowCommand())
	return command
}

func eventListCommand() *cobra.Command {
	var query event.RecordQuery
	var entity string
	command := &cobra.Command{
		Use:   "list",
		Short: "List stored events, newest first",
		Args:  cobra.NoArgs,
		RunE: withTools(func(c *cobra.Command, t *tools, _ []string) (err error) {
			if query.Entity, err = entityOfProvider(query.Provider, entity); err != nil {
				return misuse(c, err)
			}
			if err := checkSource(query.Provider, query.Source); err != nil {
				return misuse(c, err)
			}
			page, err := t.store.Events(c.Context(), query)
			if err != nil {
				return err
			}
			doubtProvider(c, t.cfg, query.Provider, len(page))
			return t.print(c, page, func(w io.Writer) error { return writeEvents(w, page) })
		}),
	}
	command.Flags().StringVar(&query.Provider, "provider", "", "only those of this provider")
	addSourceFlag(command, &query.Source)
	command.Flags().StringVar(&query.Type, "type", "", "only those of this type")
	addChoiceFlag(command, &query.Status, "status", "only those of this status", event.Statuses())
	command.Flags().StringVar(&query.Key, "key", "", "only those of this idempotency key")
	command.Flags().StringVar(&entity, "entity", "", "with --provider: only those that changed this entity, KIND/ID")
	addPeriodFlags(command, &query.Since, &query.Until)
	addEventFlag(command, &query.Before, "before", "only those before the event with this ID (the next page)")
	addLimitFlag(command, &query.Limit, 50)
	addJSONFlag(command)
	return command
}

// entityOfProvider reads KIND/ID; "" is no entity.
func entityOfProvider(provider, text string) (*event.EntityRef, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // nil does not restrict
	}
	kind, id, ok := strings.Cut(text, "/")
	if !ok || kind == "" || id == "" || provider == "" {
		return nil, fmt.Errorf("--entity %q: want KIND/ID, and --provider beside it", text)
	}
	return &event.EntityRef{Provider: provider, Kind: kind, ExternalID: id}, nil
}

func writeEvents(w io.Writer, page []event.Record) error {
	table := newTable(w, "ID", "STATUS", "PROVIDER", "SOURCE", "TYPE", "RECEIVED", "WORKFLOW")
	for _, e := range page {
		table.row(e.Receipt.ID, string(e.Status), e.Receipt.Provider, e.Receipt.Source, e.Type,
			e.Receipt.ReceivedAt.Format(time.RFC3339), e.Run.WorkflowID)
	}
	return table.flush()
}

func eventShowCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "show ID",
		Short: "Show one event, by its ID, its workflow's or its dead letter's: where it stands, its entities, its body",
		Args:  cobra.ExactArgs(1),
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			return showEvent(c, t, args[0])
		}),
	}
	addJSONFlag(command)
	return command
}

// showEvent shows the event wherever it is: it may wait in the inbox still, have died before it had a row, or be gone but for the
// verdict on it.
func showEvent(c *cobra.Command, t *tools, id string) error {
	ctx := c.Context()
	if number, err := strconv.ParseInt(id, 10, 64); err == nil {
		letter, err := t.store.DeadLetter(ctx, number)
		if err != nil {
			return err
		}
		return printDeadLetter(c, t, letter)
	}
	record, err := findEvent(ctx, t, id)
	if err == nil {
		return printEvent(c, t, record)
	}
	if !errors.Is(err, event.ErrNotFound) {
		return err
	}
	if waiting, err := findWaiting(ctx, t, id); err == nil {
		return t.print(c, waiting, func(w io.Writer) error { return writeWaiting(w, waiting) })
	}
	if eventID, unknown := eventIDOf(ctx, t, id); unknown == nil {
		if letter, err := t.store.DeadLetterOfEvent(ctx, eventID); err == nil {
			return printDeadLetter(c, t, letter)
		}
		if verdict, err := t.store.Verdict(ctx, eventID); err == nil {
			return t.print(c, verdict, func(w io.Writer) error { return writeVerdict(w, verdict) })
		}
		if conflict, err := t.store.ConflictOfEvent(ctx, eventID); err == nil {
			return t.print(c, conflict, func(w io.Writer) error { return writeDropped(w, conflict) })
		}
	}
	return err
}

// printEvent shows a stored event, and what was decided about it.
func printEvent(c *cobra.Command, t *tools, r event.Record) error {
	shown := struct {
		event.Record

		Verdict *event.Verdict `json:"verdict,omitempty"`
	}{Record: r}
	verdict, err := t.store.Verdict(c.Context(), r.Receipt.ID)
	if err == nil {
		shown.Verdict = &verdict
	} else if !errors.Is(err, event.ErrNotFound) {
		return err
	}
	return t.print(c, shown, func(w io.Writer) error { return writeEvent(w, r, shown.Verdict) })
}

func writeDropped(w io.Writer, c event.Conflict) error {
	return writeFields(w,
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
	return writeFields(w,
		"event", v.EventID,
		"status", string(v.Outcome),
		"by", v.By,
		"at", v.At.Format(time.RFC3339Nano),
		"because", v.Reason,
		"replaced by event", v.ReplacedBy,
	)
}

func findEvent(ctx context.Context, t *tools, id string) (event.Record, error) {
	if uuid.Validate(id) == nil {
		return t.store.Event(ctx, id)
	}
	if provider, key, ok := event.SplitWorkflowID(id); ok {
		return t.store.EventByKey(ctx, provider, key)
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
	err := writeFields(w,
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
		err := writeFields(w, "decided", string(v.Outcome), "by", v.By, "at", v.At.Format(time.RFC3339Nano), "because", v.Reason,
			"replaced by event", v.ReplacedBy)
		if err != nil {
			return err
		}
	}
	if err := writeLinks(w, r.Links); err != nil {
		return err
	}
	return writeBody(w, r.Body)
}

func writeLinks(w io.Writer, links []event.Link) error {
	if len(links) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := newTable(w, "ENTITY", "CHANGE", "STATE")
	for _, l := range links {
		table.row(l.Kind+" "+l.ExternalID, string(l.Op), shorten(string(l.State)))
	}
	return table.flush()
}

// shorten keeps a line of a table a line.
func shorten(s string) string {
	const most = 100
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
