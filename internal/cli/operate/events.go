package operate

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

// EventCommand is `holdfast event`.
func EventCommand() *cobra.Command {
	return cli.Group("event", "List and show events",
		eventListCommand(), eventShowCommand())
}

func eventListCommand() *cobra.Command {
	var query event.RecordQuery
	var changed string
	command := cli.ListCommand("List stored events, newest first",
		func(c *cobra.Command, t *cli.Tools) ([]event.Record, error) {
			entity, err := entityOfProvider(query.Provider, changed)
			if err != nil {
				return nil, cli.Misuse(c, err)
			}
			query.Entity = entity
			return t.Store.Events(c.Context(), query)
		},
		[]string{"ID", "STATUS", "PROVIDER", "SOURCE", "TYPE", "RECEIVED", "WORKFLOW"},
		func(e event.Record) []string {
			return []string{
				e.Receipt.ID, string(e.Status), e.Receipt.Provider, e.Receipt.Source, e.Type,
				e.Receipt.ReceivedAt.Format(time.RFC3339), e.Run.WorkflowID,
			}
		})
	cli.AddProviderFlags(command, &query.Provider, &query.Source)
	command.Flags().StringVar(&query.Type, "type", "", "only those of this type")
	cli.AddChoiceFlag(command, &query.Status, "status", "only those of this status", event.Statuses())
	command.Flags().StringVar(&query.Key, "key", "", "only those of this idempotency key")
	command.Flags().StringVar(&changed, "entity", "", "with --provider: only those that changed this entity, KIND/ID")
	cli.AddPeriodFlags(command, &query.Since, &query.Until)
	cli.AddEventFlag(command, &query.Before, "before", "only those before the event with this ID (the next page)")
	cli.AddLimitFlag(command, &query.Limit, 50)
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
