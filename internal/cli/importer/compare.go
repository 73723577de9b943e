package importer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holdfast/event/operation"
	"holdfast/internal/cli"
	"holdfast/internal/cli/destination"
	"holdfast/operator/api"
)

// CompareCommand returns `holdfast compare`.
func CompareCommand() *cobra.Command {
	var o compareOptions
	command := cli.WithAPI(&cobra.Command{
		Use:   "compare FILE|--from SYSTEM",
		Short: "Compare another system's data with this installation",
		Long: "Compare another system's data, in the format of `holdfast import`, with this\n" +
			"installation. Events are found by key, entities by any of their names. Only the\n" +
			"fields in FILE are compared. Stored events that are missing from FILE, within its\n" +
			"period and providers, are listed too. Nothing is changed. The exit code is 1 if an\n" +
			"event, a key, a dead letter or an entity differs; differing subscriptions are only\n" +
			"listed. With --json each difference is one line; the counts go to standard error.\n\n" +
			"With --from, the API of another webhook gateway is compared: its endpoints, and with\n" +
			"--undelivered, whether what it hasn't delivered has a delivery here. The exit code is 1 if\n" +
			"an endpoint is missing here or differs, or a delivery is missing.",
		Example: "  holdfast compare old.ndjson\n" +
			"  psql … | holdfast compare - --json > differences.ndjson",
		Args:    cobra.MaximumNArgs(1),
		PreRunE: o.check,
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		if o.from != "" {
			return o.compareSystem(c, a)
		}
		return o.run(c, a, args[0])
	})
	o.source.addFlags(command)
	o.system.addFlags(command)
	cli.AddJSONFlag(command)
	return command
}

type compareOptions struct {
	source
	system
}

func (o *compareOptions) compareSystem(c *cobra.Command, a *cli.API) error {
	m, err := o.system.open(c, a)
	if err != nil {
		return err
	}
	r, err := m.compare()
	if err != nil {
		return err
	}
	if err := cli.Print(c, r, r.write); err != nil {
		return err
	}
	if r.Missing+len(r.Differ) > 0 || r.Undelivered > 0 {
		return errors.New("there are differences")
	}
	return nil
}

func (o *compareOptions) run(c *cobra.Command, a *cli.API, file string) error {
	list := differences{out: bufio.NewWriter(c.OutOrStdout()), isJSON: cli.WantsJSON(c)}
	var r reading
	of := comparison{list: &list, counts: map[operation.ImportRecord]api.ComparedCount{}}
	if err := o.send(c, a, file, "/compare", &r, func(u upload) error { return of.compare(u, &r) }); err != nil {
		return errors.Join(err, list.out.Flush())
	}
	looked, err := of.findExtras(c, a)
	if err := errors.Join(err, list.out.Flush()); err != nil {
		return err
	}
	if err := of.writeCounts(cli.StatusWriter(c), looked); err != nil {
		return err
	}
	if err := destination.ApplyImported(c, a, r.Subscriptions, true); err != nil {
		return err
	}
	switch {
	case r.Invalid > 0:
		return fmt.Errorf("%d of %d lines are invalid and were not compared", r.Invalid, r.Lines)
	case list.n > 0:
		return errors.New("there are differences")
	}
	return nil
}

// differences lists differences as they are found, since a file may have any number.
type differences struct {
	out    *bufio.Writer
	isJSON bool
	n      int
}

func (l *differences) add(d operation.ImportDifference) {
	l.n++
	if !l.isJSON {
		fmt.Fprintln(l.out, cli.Printable(textOf(d)))
		return
	}
	_ = json.NewEncoder(l.out).Encode(d) //nolint:errchkjson // a writer's error is that of Flush, and the value is valid
}

func (o *comparison) writeCounts(w io.Writer, looked bool) error {
	if !looked {
		fmt.Fprintf(w, "events missing from FILE were not searched for: it has more than %d events\n", maxCompared)
	}
	table := cli.NewTable(w, "RECORD", "SAME", "MISSING", "DIFFER", "EXTRA")
	for _, record := range operation.ImportRecords() {
		extra := int64(0)
		if record == operation.ImportEvent {
			extra = o.extra
		}
		if n, ok := o.counts[record]; ok || extra > 0 {
			table.Row(string(record), cli.Number(n.Same), cli.Number(n.Missing), cli.Number(n.Differ), cli.Number(extra))
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
