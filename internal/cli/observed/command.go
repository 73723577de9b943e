package observed

import (
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event/shape"
	"holdfast/internal/cli"
	"holdfast/operator/api/definitionapi"
	"holdfast/operator/httpapi"
)

// list is the response of the route.
type list = httpapi.List[definitionapi.ObservedType]

// Command returns `holdfast types`.
func Command() *cobra.Command {
	var eventType string
	var events int
	var typeScript, golang bool
	command := cli.WithAPI(&cobra.Command{
		Use:   "types PROVIDER",
		Short: "Show which fields a provider's events have, and what changed",
		Long: "Show which fields the latest events of each type have, their JSON types, how often\n" +
			"they are there, and which rules of the definition read them. It shows no values.\n" +
			"Below are the changes of the last 30 days, and since when.\n\n" +
			"--typescript and --go print types for clients. --json has a JSON Schema of each type.",
		Example: "  holdfast types stripe\n  holdfast types stripe --type invoice.paid --events 500\n" +
			"  holdfast types stripe --typescript > stripe.ts\n" +
			"  holdfast types stripe --json | jq '.items[0].schema'",
		Args: cobra.ExactArgs(1),
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		query := url.Values{"events": {strconv.Itoa(events)}}
		if eventType != "" {
			query.Set("type", eventType)
		}
		return cli.Show(c, a, "/observed-types/"+httpapi.PathSegment(args[0]), query, func(w io.Writer, found list) error {
			switch {
			case typeScript:
				return writeTypeScript(w, args[0], found.Items)
			case golang:
				return writeGo(w, args[0], found.Items)
			default:
				return writeFields(w, found)
			}
		})
	})
	command.Flags().StringVar(&eventType, "type", "", "only those of this type")
	command.Flags().IntVar(&events, "events", 100, "how many of the latest events of each type to read, 500 at most")
	command.Flags().BoolVar(&typeScript, "typescript", false, "print TypeScript types")
	command.Flags().BoolVar(&golang, "go", false, "print Go types")
	cli.AddJSONFlag(command)
	cli.AddWideFlag(command)
	command.MarkFlagsMutuallyExclusive("typescript", "go", "json")
	return command
}

func writeFields(w io.Writer, found list) error {
	if len(found.Items) == 0 {
		_, err := fmt.Fprintln(w, "no events are stored")
		return err
	}
	for i, t := range found.Items {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", cli.Printable(t.Type), readOf(t))
		fields := cli.NewTable(w, "FIELD!", "TYPES", "PRESENT", "VALUES", "READ BY")
		for _, f := range t.Fields {
			values := ""
			if f.Values > 0 {
				values = strconv.Itoa(f.Values)
			}
			fields.Row(f.Path, shape.Kinds(f.Kinds), f.Percent(), values, strings.Join(f.ReadBy, " "))
		}
		if err := fields.Flush(); err != nil {
			return err
		}
		if err := writeChanges(w, t.Changes); err != nil {
			return err
		}
	}
	if found.Note != "" {
		_, err := fmt.Fprintln(w, found.Note)
		return err
	}
	return nil
}

// readOf says what the fields were inferred from.
func readOf(t definitionapi.ObservedType) string {
	text := fmt.Sprintf("fields of the latest %d events", t.Events)
	if t.Skipped > 0 {
		text += fmt.Sprintf("; %d weren't read: too large, or not decodable", t.Skipped)
	}
	return text
}

func writeChanges(w io.Writer, all []shape.FieldChange) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := cli.NewTable(w, "SINCE/AGE~", "FIELD!", "CHANGE", "NEEDED BY", "FIRST EVENT!")
	for _, c := range all {
		table.Row(c.Since.Format(time.RFC3339), c.Path, c.Text(), strings.Join(c.ReadBy, " "), c.EventID)
	}
	return table.Flush()
}
