package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
)

func entityCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "entity",
		Short:   "Show entities",
		GroupID: groupOperate,
	}
	command.AddCommand(entityShowCommand())
	return command
}

func entityShowCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "show PROVIDER KIND ID",
		Short: "Show the folded state of one entity, and the changes that made it",
		Args:  cobra.ExactArgs(3),
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			ref := event.EntityRef{Provider: args[0], Kind: args[1], ExternalID: args[2]}
			entity, err := t.store.Entity(c.Context(), ref)
			if err != nil {
				return err
			}
			timeline, err := t.store.Timeline(c.Context(), ref)
			if err != nil {
				return err
			}
			return t.print(c, struct {
				event.Entity
				Timeline []event.Link `json:"timeline"`
			}{entity, timeline}, func(w io.Writer) error { return writeEntity(w, entity, timeline) })
		}),
	}
	addJSONFlag(command)
	return command
}

func writeEntity(w io.Writer, e event.Entity, timeline []event.Link) error {
	title := e.Provider + " " + e.Kind + " " + e.ExternalID
	if e.Deleted {
		title += " (deleted)"
	}
	var state bytes.Buffer
	if err := json.Indent(&state, e.State, "", "  "); err != nil {
		return fmt.Errorf("indent state: %w", err)
	}
	fmt.Fprintf(w, "%s\n%s\n\n", printable(title), printable(state.String()))
	table := newTable(w, "OCCURRED", "EVENT", "TYPE", "CHANGE", "STATE")
	for _, l := range timeline {
		table.row(l.OccurredAt.Format(time.RFC3339), l.EventID, l.EventType, string(l.Op), shorten(string(l.State)))
	}
	return table.flush()
}
