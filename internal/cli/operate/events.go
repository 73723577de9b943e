package operate

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

// EventCommand is `holdfast event`.
func EventCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "event",
		Short:   "List and show events",
		GroupID: cli.GroupOperate,
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
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, _ []string) (err error) {
			if query.Entity, err = entityOfProvider(query.Provider, entity); err != nil {
				return cli.Misuse(c, err)
			}
			if err := cli.CheckSource(query.Provider, query.Source); err != nil {
				return cli.Misuse(c, err)
			}
			page, err := t.Store.Events(c.Context(), query)
			if err != nil {
				return err
			}
			cli.DoubtProvider(c, t.Cfg, query.Provider, len(page))
			return t.Print(c, page, func(w io.Writer) error { return writeEvents(w, page) })
		}),
	}
	command.Flags().StringVar(&query.Provider, "provider", "", "only those of this provider")
	cli.AddSourceFlag(command, &query.Source)
	command.Flags().StringVar(&query.Type, "type", "", "only those of this type")
	cli.AddChoiceFlag(command, &query.Status, "status", "only those of this status", event.Statuses())
	command.Flags().StringVar(&query.Key, "key", "", "only those of this idempotency key")
	command.Flags().StringVar(&entity, "entity", "", "with --provider: only those that changed this entity, KIND/ID")
	cli.AddPeriodFlags(command, &query.Since, &query.Until)
	cli.AddEventFlag(command, &query.Before, "before", "only those before the event with this ID (the next page)")
	cli.AddLimitFlag(command, &query.Limit, 50)
	cli.AddJSONFlag(command)
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
	table := cli.NewTable(w, "ID", "STATUS", "PROVIDER", "SOURCE", "TYPE", "RECEIVED", "WORKFLOW")
	for _, e := range page {
		table.Row(e.Receipt.ID, string(e.Status), e.Receipt.Provider, e.Receipt.Source, e.Type,
			e.Receipt.ReceivedAt.Format(time.RFC3339), e.Run.WorkflowID)
	}
	return table.Flush()
}
