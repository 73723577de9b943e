package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
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
	command := cli.WithAPI(&cobra.Command{
		Use:   "show PROVIDER KIND ID",
		Short: "Show the folded state of one entity, and the changes that made it",
		Example: "  holdfast entity show stripe customer cus_123\n" +
			"  holdfast entity show stripe customer cus_123 --as-of 7d\n" +
			"  holdfast entity show stripe customer cus_123 --json | jq .state",
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		ref := event.EntityRef{Provider: args[0], Kind: args[1], ExternalID: args[2]}
		at, err := a.FiltersOf(c.Context(), c)
		if err != nil {
			return err
		}
		shown, err := readEntity(c, a, ref, at)
		if errors.Is(err, event.ErrNotFound) && len(at) == 0 {
			return cli.NotFound("no %s %q of %s: see `holdfast entity list --provider %s --kind %s`",
				ref.Kind, ref.ExternalID, ref.Provider, ref.Provider, ref.Kind)
		}
		if err != nil {
			return err
		}
		return cli.Print(c, shown, func(w io.Writer) error { return writeEntity(w, shown) })
	})
	cli.AddTimeFilter(command, "as-of", "as_of", "its state at this time")
	cli.AddJSONFlag(command)
	return command
}

// entityShown is an entity as the API shows it, with the results of its routes for related entities and the timeline.
type entityShown struct {
	api.EntityView

	Related  []api.EntityView `json:"related,omitempty"`
	Timeline []api.Change     `json:"timeline"`
}

// readEntity reads an entity's state and changes, the earliest first.
func readEntity(c *cobra.Command, a *cli.API, ref event.EntityRef, at url.Values) (shown entityShown, err error) {
	if shown.EntityView, err = readState(c, a, ref, at); err != nil {
		return shown, err
	}
	path := cli.Path("entities", ref.Provider, ref.Kind, ref.ExternalID, "timeline")
	if shown.Timeline, err = cli.ReadAll[api.Change](c, a, path, maps.Clone(at)); err != nil {
		return shown, err
	}
	slices.Reverse(shown.Timeline)
	shown.Related, err = readRelated(c, a, shown.EntityView, at)
	return shown, err
}

func readState(c *cobra.Command, a *cli.API, ref event.EntityRef, at url.Values) (e api.EntityView, err error) {
	err = a.Read(c.Context(), cli.Path("entities", ref.Provider, ref.Kind, ref.ExternalID), at, &e)
	return e, err
}

// readRelated reads the related entities that the definition names. Those that don't exist, or didn't yet, are left out.
func readRelated(c *cobra.Command, a *cli.API, e api.EntityView, at url.Values) (related []api.EntityView, err error) {
	catalogue, err := providers.Load(a.Cfg.Providers.Dir)
	if err != nil {
		return nil, nil //nolint:nilerr // the entity itself can be shown without definitions
	}
	p, ok := catalogue.Lookup(e.Provider)
	if !ok {
		return nil, nil
	}
	for _, ref := range p.Related(event.Entity{EntityRef: e.EntityRef, State: e.State}) {
		one, err := readState(c, a, ref, at)
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

func writeEntity(w io.Writer, e entityShown) error {
	if err := writeState(w, e.EntityView); err != nil {
		return err
	}
	if e.CollapsedUntil != nil {
		fmt.Fprintf(w, "earlier changes are not kept: the state is known since %s\n\n",
			e.CollapsedUntil.Format(time.RFC3339))
	}
	for _, one := range e.Related {
		if err := writeState(w, one); err != nil {
			return err
		}
	}
	table := cli.NewTable(w, "OCCURRED/AGE~", "EVENT!", "TYPE", "CHANGE", "STATE")
	for _, l := range e.Timeline {
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

func writeState(w io.Writer, e api.EntityView) error {
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
	if e.Redacted {
		state.WriteString("the role viewer may not see its state")
	} else if err := json.Indent(&state, e.State, "", "  "); err != nil {
		return fmt.Errorf("indent state: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s\n%s\n\n", cli.Printable(title), cli.Printable(state.String())); err != nil || !e.Incomplete {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n\n", incomplete)
	return err
}

func entityListCommand() *cobra.Command {
	command := cli.Page[api.EntityView]{
		Short: "List entities, in the order of their names", Route: "/entities", Limit: 50,
		Example: "  holdfast entity list --provider stripe --kind customer --prefix cus_\n" +
			"  holdfast entity list --since 1h --json | jq -r '.items[].external_id'",
		Heading: []string{"PROVIDER", "KIND", "ID!", "VERSION+", "LAST CHANGE/AGE~", "EVENT+!", "DELETED", "INCOMPLETE+"},
		Cells: func(e api.EntityView) []string {
			version := ""
			if e.Version != nil {
				version = strconv.FormatInt(*e.Version, 10)
			}
			return []string{
				e.Provider, e.Kind, e.ExternalID, version, cli.TimeText(e.OccurredAt), e.LastEvent, strconv.FormatBool(e.Deleted),
				strconv.FormatBool(e.Incomplete),
			}
		},
	}.Command()
	cli.AddProviderFilter(command)
	cli.AddFilter(command, "kind", "kind", "only those of this kind of entity (with --provider)")
	cli.AddFilter(command, "prefix", "prefix", "only those whose ID starts with this (with --kind)")
	cli.AddTimeFilter(command, "since", "since", "not before then")
	return command
}
