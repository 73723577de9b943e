package eventtype

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/event/eventtype"
	"holdfast/internal/cli"
	"holdfast/operator/api/eventtypeapi"
)

// Command returns `holdfast event-type`.
func Command() *cobra.Command {
	return cli.Group("event-type", "Declared types of published events: list, show, apply, delete",
		"  holdfast event-type apply -f event-types.yaml --dry-run\n  holdfast event-type show order.paid",
		listCommand(), showCommand(), applyCommand(), deleteCommand())
}

func listCommand() *cobra.Command {
	return cli.Page[eventtypeapi.EventTypeSummary]{
		Short: "List event types, with their checks and versions", Route: "/event-types", Example: "  holdfast event-type list",
		Heading: []string{"NAME!", "CHECK", "VERSIONS", "DEPRECATED+", "DESCRIPTION"},
		Cells: func(s eventtypeapi.EventTypeSummary) []string {
			return []string{
				s.Name, string(s.Check), strings.Join(s.Versions, " "), strings.Join(s.Deprecated, " "), cli.Shorten(s.Description),
			}
		},
	}.Command()
}

func showCommand() *cobra.Command {
	return named("show", "Show an event type, with the schema and example of each version", "  holdfast event-type show order.paid",
		func(c *cobra.Command, a *cli.API, name string) error {
			return notFound(cli.Show(c, a, cli.Path("event-types", name), nil, write), name)
		})
}

func write(w io.Writer, t eventtype.EventType) error {
	if err := cli.WriteFields(w, "event type", t.Name, "description", t.Description, "check", string(t.Checked())); err != nil {
		return err
	}
	for _, number := range t.Numbers() {
		v := t.Versions[number]
		mark := ""
		if v.Deprecated {
			mark = " (deprecated)"
		}
		fmt.Fprintf(w, "\nversion %s%s: schema of data\n%s\n", number, mark, indented(v.Schema))
		if v.Example != nil {
			fmt.Fprintf(w, "example\n%s\n", indented(v.Example))
		}
	}
	return nil
}

func indented(text json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return cli.Printable(string(text))
	}
	lines := strings.Split(b.String(), "\n")
	for i, line := range lines {
		lines[i] = cli.Printable(line)
	}
	return strings.Join(lines, "\n")
}

func deleteCommand() *cobra.Command {
	command := named("delete", "Delete an event type: its events are no longer checked",
		"  holdfast event-type delete order.paid --reason 'no longer published'",
		func(c *cobra.Command, a *cli.API, name string) error {
			var gone eventtypeapi.DeletedEventType
			err := a.Change(c.Context(), http.MethodDelete, cli.Path("event-types", name), cli.Reasoned(c), &gone)
			if err != nil {
				return notFound(err, name)
			}
			return cli.Print(c, gone, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "deleted event type %s\n", gone.Deleted)
				return err
			})
		})
	cli.AddReasonFlag(command)
	return command
}

// named returns a command about the type that its argument names.
func named(verb, short, example string, run func(*cobra.Command, *cli.API, string) error) *cobra.Command {
	return cli.WithJSON(cli.WithAPI(&cobra.Command{
		Use: verb + " NAME", Short: short, Example: example, Args: cobra.ExactArgs(1),
	}, func(c *cobra.Command, a *cli.API, args []string) error { return run(c, a, args[0]) }))
}

// notFound replaces an error that no type has this name.
func notFound(err error, name string) error {
	if errors.Is(err, event.ErrNotFound) {
		return cli.NotFound("there is no event type %q: holdfast event-type list", name)
	}
	return err
}
