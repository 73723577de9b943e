package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
	"holdfast/operator/api"
	"holdfast/providers"
)

// EntityCommand returns `holdfast entity`.
func EntityCommand() *cobra.Command {
	return cli.Group("entity", "List and show entities; rebuild them with today's definitions",
		"  holdfast entity list --provider stripe --kind customer\n  holdfast entity show stripe customer cus_123",
		entityListCommand(), entityShowCommand(), entityRebuildCommand())
}

func entityShowCommand() *cobra.Command {
	var at time.Time
	command := &cobra.Command{
		Use:   "show PROVIDER KIND ID",
		Short: "Show the folded state of one entity, and the changes that made it",
		Example: "  holdfast entity show stripe customer cus_123\n" +
			"  holdfast entity show stripe customer cus_123 --as-of 7d\n" +
			"  holdfast entity show stripe customer cus_123 --json | jq .state",
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			ref := event.EntityRef{Provider: args[0], Kind: args[1], ExternalID: args[2]}
			entity, timeline, err := readEntity(c.Context(), t, ref, at)
			if errors.Is(err, event.ErrNotFound) && at.IsZero() {
				return cli.NotFound("no %s %q of %s: see `holdfast entity list --provider %s --kind %s`",
					ref.Kind, ref.ExternalID, ref.Provider, ref.Provider, ref.Kind)
			}
			if err != nil {
				return err
			}
			related, err := readRelated(c.Context(), t, entity, at)
			if err != nil {
				return err
			}
			return cli.Print(c, shownEntity(entity, related, timeline, at), func(w io.Writer) error {
				return writeEntity(w, entity, related, timeline)
			})
		}),
	}
	cli.AddTimeFlag(command, &at, nil, "as-of", "its state at this time")
	cli.AddJSONFlag(command)
	return command
}

// entityShown is an entity as the API shows it, with the results of its routes for related entities and the timeline.
type entityShown struct {
	api.EntityView

	Related  []api.EntityView `json:"related,omitempty"`
	Timeline []event.Link     `json:"timeline"`
}

func shownEntity(e event.Entity, related []event.Entity, timeline []event.Link, at time.Time) entityShown {
	shown := entityShown{EntityView: api.ViewEntity(e), Timeline: append([]event.Link{}, timeline...)}
	if !at.IsZero() {
		shown.AsOf = &at
	}
	for _, one := range related {
		shown.Related = append(shown.Related, api.ViewEntity(one))
	}
	return shown
}

// readEntity reads an entity's state and changes, at a point in time or, if that is zero, now.
func readEntity(
	ctx context.Context, t *cli.Tools, ref event.EntityRef, at time.Time,
) (entity event.Entity, timeline []event.Link, err error) {
	if entity, err = readState(ctx, t, ref, at); err != nil {
		return entity, nil, err
	}
	timeline, err = t.Store.Read.Timeline(ctx, ref)
	return entity, slices.DeleteFunc(timeline, func(l event.Link) bool {
		return !at.IsZero() && l.OccurredAt.After(at)
	}), err
}

func readState(ctx context.Context, t *cli.Tools, ref event.EntityRef, at time.Time) (event.Entity, error) {
	if at.IsZero() {
		return t.Store.Read.Entity(ctx, ref)
	}
	return t.Store.Entities.EntityAsOf(ctx, ref, at)
}

// readRelated reads the related entities that the definition names. Those that don't exist, or didn't yet, are left out.
func readRelated(ctx context.Context, t *cli.Tools, e event.Entity, at time.Time) (related []event.Entity, err error) {
	catalogue, err := providers.Load(t.Cfg.Providers.Dir)
	if err != nil {
		return nil, nil //nolint:nilerr // the entity itself can be shown without definitions
	}
	p, ok := catalogue.Lookup(e.Provider)
	if !ok {
		return nil, nil
	}
	for _, ref := range p.Related(e) {
		one, err := readState(ctx, t, ref, at)
		switch {
		case errors.Is(err, event.ErrNotFound):
		case err != nil:
			return nil, err
		default:
			related = append(related, one)
		}
	}
	return related, nil
}

func writeEntity(w io.Writer, e event.Entity, related []event.Entity, timeline []event.Link) error {
	if err := writeState(w, e); err != nil {
		return err
	}
	if e.CollapsedUntil != nil {
		fmt.Fprintf(w, "earlier changes are not kept: the state is known since %s\n\n",
			e.CollapsedUntil.Format(time.RFC3339))
	}
	for _, one := range related {
		if err := writeState(w, one); err != nil {
			return err
		}
	}
	table := cli.NewTable(w, "OCCURRED/AGE~", "EVENT!", "TYPE", "CHANGE", "STATE")
	for _, l := range timeline {
		op := string(l.Op)
		if l.WithoutEffect {
			op += " (no effect)"
		}
		table.Row(l.OccurredAt.Format(time.RFC3339), l.EventID, l.EventType, op, cli.Shorten(string(l.State)))
	}
	return table.Flush()
}

// incomplete explains an incomplete entity.
const incomplete = "incomplete: an event was expunged after a purge had removed other changes of the entity.\n" +
	"The state lacks those changes, or may still contain those of the expunged event.\n" +
	"The next snapshot or delete makes it complete."

func writeState(w io.Writer, e event.Entity) error {
	title := e.Provider + " " + e.Kind + " " + e.ExternalID
	if e.Deleted {
		title += " (deleted)"
	}
	if e.Incomplete {
		title += " (incomplete)"
	}
	if len(e.Names) > 0 {
		title += ", also " + strings.Join(e.Names, ", ")
	}
	var state bytes.Buffer
	if err := json.Indent(&state, e.State, "", "  "); err != nil {
		return fmt.Errorf("indent state: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s\n%s\n\n", cli.Printable(title), cli.Printable(state.String())); err != nil || !e.Incomplete {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n\n", incomplete)
	return err
}

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
