package events

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
	"holdfast/operator/api"
)

func entityListCommand() *cobra.Command {
	var query event.EntityQuery
	var lookedTo *event.EntityRef
	command := cli.Listing[event.Entity, event.EntityRef]{
		Short: "List entities, in the order of their names",
		Example: "  holdfast entity list --provider stripe --kind customer --prefix cus_\n" +
			"  holdfast entity list --since 1h --json | jq -r '.items[].external_id'",
		Limit: 50, Place: func(e event.Entity) event.EntityRef { return e.EntityRef },
		LookedTo: func() *event.EntityRef { return lookedTo },
		Read: func(c *cobra.Command, t *cli.Tools, limit int, after *event.EntityRef) ([]event.Entity, error) {
			query.Limit, query.After = limit, after
			if query.Kind != "" && query.Provider == "" || query.Prefix != "" && query.Kind == "" {
				return nil, cli.UsageError(c, errors.New("--kind needs --provider, and --prefix needs --kind"))
			}
			found, err := t.Store.Read.EntityList(c.Context(), query)
			lookedTo = found.SearchedTo
			sayWhatIsMissing(c, query, found)
			return found.Entities, err
		},
		View:    func(e event.Entity) any { return api.ViewEntity(e) },
		Heading: []string{"PROVIDER", "KIND", "ID!", "VERSION+", "LAST CHANGE/AGE~", "EVENT+!", "DELETED", "INCOMPLETE+"},
		Cells: func(e event.Entity) []string {
			version, changed := "", ""
			if e.Last.Version != nil {
				version = strconv.FormatInt(*e.Last.Version, 10)
			}
			if e.Last.EventID != "" {
				changed = e.Last.OccurredAt.Format(time.RFC3339)
			}
			return []string{
				e.Provider, e.Kind, e.ExternalID, version, changed, e.Last.EventID, strconv.FormatBool(e.Deleted),
				strconv.FormatBool(e.Incomplete),
			}
		},
	}.Command()
	cli.AddProviderFlag(command, &query.Provider)
	cli.AddKindFlag(command, &query.Kind, " (with --provider)")
	command.Flags().StringVar(&query.Prefix, "prefix", "", "only those whose ID starts with this (with --kind)")
	cli.AddTimeFlag(command, &query.Since, nil, "since", "not before then")
	return command
}

// sayWhatIsMissing prints where the list stopped before its end.
func sayWhatIsMissing(c *cobra.Command, q event.EntityQuery, found event.FoundEntities) {
	if found.ChangedSince.After(q.Since) {
		fmt.Fprintf(cli.StatusWriter(c), "too many changes: the list only covers those since %s\n",
			found.ChangedSince.Format(time.RFC3339))
	}
}
