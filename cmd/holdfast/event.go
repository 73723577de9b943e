package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	var status, entity, since, until string
	command := &cobra.Command{
		Use:   "list",
		Short: "List stored events, newest first",
		Args:  cobra.NoArgs,
		RunE: withTools(func(c *cobra.Command, t *tools, _ []string) (err error) {
			if query.Since, query.Until, err = parsePeriod(since, until); err != nil {
				return err
			}
			if query.Entity, err = entityOfProvider(query.Provider, entity); err != nil {
				return err
			}
			query.Status = event.Status(status)
			page, err := t.store.Events(c.Context(), query)
			if err != nil {
				return err
			}
			return t.print(c, page, func(w io.Writer) error { return writeEvents(w, page) })
		}),
	}
	command.Flags().StringVar(&query.Provider, "provider", "", "only those of this provider")
	command.Flags().StringVar(&query.Type, "type", "", "only those of this type")
	command.Flags().StringVar(&status, "status", "", "only those that are persisted, processed or dead")
	command.Flags().StringVar(&query.Key, "key", "", "only those of this idempotency key")
	command.Flags().StringVar(&entity, "entity", "", "with --provider: only those that changed this entity, KIND/ID")
	addPeriodFlags(command, &since, &until)
	command.Flags().StringVar(&query.Before, "before", "", "only those before the event with this ID (the next page)")
	command.Flags().IntVar(&query.Limit, "limit", 50, "how many at most, 1 to 500")
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
	table := newTable(w, "ID", "STATUS", "PROVIDER", "TYPE", "RECEIVED", "WORKFLOW")
	for _, e := range page {
		table.row(e.Receipt.ID, string(e.Status), e.Receipt.Provider, e.Type,
			e.Receipt.ReceivedAt.Format(time.RFC3339), e.Run.WorkflowID)
	}
	return table.flush()
}

func eventShowCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "show ID",
		Short: "Show one event, by its ID or its workflow's: where it stands, its entities, its body",
		Args:  cobra.ExactArgs(1),
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			record, err := findEvent(c.Context(), t, args[0])
			if errors.Is(err, event.ErrNotFound) { // it may not have come so far
				if waiting, err := findWaiting(c.Context(), t, args[0]); err == nil {
					return t.print(c, waiting, func(w io.Writer) error { return writeWaiting(w, waiting) })
				}
			}
			if err != nil {
				return err
			}
			return t.print(c, record, func(w io.Writer) error { return writeEvent(w, record) })
		}),
	}
	addJSONFlag(command)
	return command
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

func writeEvent(w io.Writer, r event.Record) error {
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
