package events

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
	"holdfast/operator/api"
)

// EventCommand returns `holdfast event`.
func EventCommand() *cobra.Command {
	return cli.Group("event", "List and show events, and the attempts to deliver them",
		"  holdfast event list --provider stripe --since 1h\n  holdfast event show stripe:evt_123",
		eventListCommand(), eventShowCommand(), eventBodyCommand(), eventAttemptsCommand())
}

func eventListCommand() *cobra.Command {
	var query event.RecordQuery
	var changed, note string
	command := cli.Listing[event.Record, string]{
		Short: "List events, stored or waiting for a worker, newest first",
		Example: "  holdfast event list --provider stripe --type customer.updated --since 24h\n" +
			"  holdfast event list --provider stripe --entity customer/cus_123\n" +
			"  holdfast event list --json | jq -r '.items[].id'",
		Limit: 50, Place: func(r event.Record) string { return r.Receipt.ID },
		Read: func(c *cobra.Command, t *cli.Tools, limit int, after *string) ([]event.Record, error) {
			entity, err := entityOfProvider(query.Provider, changed)
			if err != nil {
				return nil, cli.UsageError(c, err)
			}
			query.Entity, query.Limit = entity, limit
			if after != nil {
				query.Before = *after
			}
			var found []event.Record
			found, note, err = reader(t).FindEvents(c.Context(), query)
			return found, err
		},
		Note:    func() string { return note },
		View:    func(r event.Record) any { return api.ViewEvent(r) },
		Heading: []string{"ID!", "STATUS", "PROVIDER", "SOURCE+", "TYPE", "RECEIVED/AGE~", "POSSIBLE DUPLICATE OF+", "WORKFLOW+"},
		Cells: func(e event.Record) []string {
			return []string{
				e.Receipt.ID, statusOf(e), e.Receipt.Provider, e.Receipt.Source, e.Type,
				e.Receipt.ReceivedAt.Format(time.RFC3339), e.PossibleDuplicateOf, e.Run.WorkflowID,
			}
		},
	}.Command()
	cli.AddProviderFlags(command, &query.Provider, &query.Source)
	cli.AddTypeFlag(command, &query.Type)
	cli.AddChoiceFlag(command, &query.Status, "status", "only those of this status", event.Statuses())
	cli.AddKeyFlag(command, &query.Key)
	command.Flags().BoolVar(&query.PossibleDuplicates, "possible-duplicates", false,
		"only those with the same content as an earlier event")
	command.Flags().StringVar(&changed, "entity", "", "only those that changed this entity, KIND/ID (with --provider)")
	cli.AddPeriodFlags(command, &query.Since, &query.Until)
	return command
}

// statusOf marks an event that may repeat an earlier one.
func statusOf(e event.Record) string {
	if e.PossibleDuplicateOf != "" {
		return string(e.Status) + " (possible duplicate)"
	}
	return string(e.Status)
}

// entityOfProvider parses KIND/ID; "" is no entity.
func entityOfProvider(provider, text string) (*event.EntityRef, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // nil does not restrict
	}
	kind, id, ok := strings.Cut(text, "/")
	if !ok || kind == "" || id == "" || provider == "" {
		return nil, fmt.Errorf("invalid --entity %q: use KIND/ID together with --provider", text)
	}
	return &event.EntityRef{Provider: provider, Kind: kind, ExternalID: id}, nil
}
