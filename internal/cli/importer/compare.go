package importer

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holdfast/event/operation"
	"holdfast/internal/cli"
	"holdfast/internal/cli/destination"
	"holdfast/operator/importer"
)

// CompareCommand returns `holdfast compare`.
func CompareCommand() *cobra.Command {
	var o compareOptions
	command := &cobra.Command{
		Use:   "compare FILE",
		Short: "Compare another system's data with this installation",
		Long: "Compare another system's data, in the format of `holdfast import`, with this\n" +
			"installation. Events are found by key, entities by any of their names. Only the\n" +
			"fields in FILE are compared. Stored events that are missing from FILE, within its\n" +
			"period and providers, are listed too. Nothing is changed. The exit code is 1 if an\n" +
			"event, a key, a dead letter or an entity differs; differing subscriptions are only\n" +
			"listed.",
		Example: "  holdfast compare old.ndjson\n" +
			"  psql … | holdfast compare - --limit 500 --json",
		Args:    cobra.ExactArgs(1),
		GroupID: cli.GroupOperate,
		RunE:    cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error { return o.run(c, t, args[0]) }),
	}
	o.addFlags(command)
	cli.AddLimitFlag(command, &o.limit, 100)
	cli.AddJSONFlag(command)
	return command
}

type compareOptions struct {
	source
	limit int
}

type comparison struct {
	Lines   int64                                             `json:"lines"`
	Invalid int64                                             `json:"invalid"`
	Counts  map[operation.ImportRecord]importer.ComparedCount `json:"counts"`
	// Differing counts all differences, of which the first are listed.
	Differing   int64                        `json:"differing"`
	Differences []operation.ImportDifference `json:"differences"`
	// NotLookedFor reports that the search for events missing in the file was skipped: the file is too large.
	NotLookedFor bool `json:"extras_not_looked_for,omitempty"`
}

func (o *compareOptions) run(c *cobra.Command, t *cli.Tools, file string) error {
	found := comparison{Differences: []operation.ImportDifference{}}
	with := importer.Comparison{Store: t.Store.Imports, Differs: func(d operation.ImportDifference) {
		if found.Differing++; len(found.Differences) < o.limit {
			found.Differences = append(found.Differences, d)
		}
	}}
	r := &reading{store: t.Store.Imports, page: with.Add}
	if err := o.read(c, t, file, r); err != nil {
		return err
	}
	looked, err := with.Extras(c.Context())
	if err != nil {
		return err
	}
	found.Lines, found.Invalid, found.Counts, found.NotLookedFor = r.lines, r.invalid, with.Counts, !looked
	if err := cli.Print(c, found, func(w io.Writer) error { return writeComparison(w, found) }); err != nil {
		return err
	}
	if err := destination.ApplyImported(c, t, r.subscriptions, true); err != nil {
		return err
	}
	switch {
	case r.invalid > 0:
		return fmt.Errorf("%d of %d lines are invalid and were not compared", r.invalid, r.lines)
	case found.Differing > 0:
		return errors.New("there are differences")
	}
	return nil
}

func writeComparison(w io.Writer, f comparison) error {
	for _, d := range f.Differences {
		fmt.Fprintln(w, cli.Printable(textOf(d)))
	}
	if more := f.Differing - int64(len(f.Differences)); more > 0 {
		fmt.Fprintf(w, "… and %d more (--limit)\n", more)
	}
	if f.NotLookedFor {
		fmt.Fprintf(w, "events missing from FILE were not searched for: it has more than %d events\n", importer.MaxCompared)
	}
	table := cli.NewTable(w, "RECORD", "SAME", "MISSING", "DIFFER", "EXTRA")
	for _, record := range operation.ImportRecords() {
		if n, ok := f.Counts[record]; ok {
			table.Row(string(record), cli.Number(n.Same), cli.Number(n.Missing), cli.Number(n.Differ), cli.Number(n.Extra))
		}
	}
	return table.Flush()
}

// textOf formats a difference as one line.
func textOf(d operation.ImportDifference) string {
	name := fmt.Sprintf("%s %s %s", d.Record, d.Provider, d.Name)
	switch d.Differ {
	case operation.DiffersMissing:
		return fmt.Sprintf("line %d: %s is missing here", d.Line, name)
	case operation.DiffersExtra:
		return fmt.Sprintf("%s is missing from the file (%s)", name, d.EventID)
	}
	return fmt.Sprintf("line %d: %s: %s: imported %s, stored %s",
		d.Line, name, d.Field, cli.ValueText(d.There), cli.ValueText(d.Here))
}
