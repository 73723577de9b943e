package events

import (
	"fmt"
	"net/url"
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
	command := cli.Page[api.EventView]{
		Short: "List events, stored or waiting for a worker, newest first", Route: "/events", Limit: 50, Query: entityOfProvider,
		Example: "  holdfast event list --provider stripe --type customer.updated --since 24h\n" +
			"  holdfast event list --provider stripe --entity customer/cus_123\n" +
			"  holdfast event list --json | jq -r '.items[].id'",
		Heading: []string{"ID!", "STATUS", "PROVIDER", "SOURCE+", "TYPE", "RECEIVED/AGE~", "POSSIBLE DUPLICATE OF+", "WORKFLOW+"},
		Cells: func(e api.EventView) []string {
			return []string{
				e.ID, statusOf(e), e.Provider, e.Source, e.Type, e.ReceivedAt.Format(time.RFC3339), e.PossibleDuplicateOf, e.Run.WorkflowID,
			}
		},
	}.Command()
	cli.AddProviderFilters(command)
	cli.AddTypeFilter(command)
	cli.AddChoiceFilter(command, "status", "status", "only those of this status", event.Statuses())
	cli.AddKeyFilter(command)
	command.Flags().Bool("possible-duplicates", false, "only those with the same content as an earlier event")
	cli.AsFilter(command, "possible-duplicates", "possible_duplicate")
	command.Flags().Bool("omitted", false, "only those that left out entities because of a limit")
	cli.AsFilter(command, "omitted", "omitted")
	command.Flags().String("entity", "", "only those that changed this entity, KIND/ID (with --provider)")
	cli.AddPeriodFilters(command)
	return command
}

// statusOf marks an event that may repeat an earlier one, or left out entities.
func statusOf(e api.EventView) string {
	switch {
	case e.PossibleDuplicateOf != "":
		return string(e.Status) + " (possible duplicate)"
	case e.Omitted != nil:
		return string(e.Status) + " (entities left out)"
	}
	return string(e.Status)
}

// entityOfProvider adds the entity of --entity, KIND/ID.
func entityOfProvider(c *cobra.Command, query url.Values) error {
	text, _ := c.Flags().GetString("entity") // the flag exists
	if text == "" {
		return nil
	}
	kind, id, ok := strings.Cut(text, "/")
	if !ok || kind == "" || id == "" || query.Get("provider") == "" {
		return cli.UsageError(c, fmt.Errorf("invalid --entity %q: use KIND/ID together with --provider", text))
	}
	query.Set("entity_kind", kind)
	query.Set("entity_id", id)
	return nil
}
