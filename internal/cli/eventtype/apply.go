package eventtype

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"holdfast/delivery/declared"
	"holdfast/event/eventtype"
	"holdfast/internal/cli"
	"holdfast/internal/cli/destination"
	"holdfast/operator/api/eventtypeapi"
	"holdfast/providers/definition"
)

func applyCommand() *cobra.Command {
	var o applyOptions
	command := cli.WithAPI(&cobra.Command{
		Use:   "apply -f FILE",
		Short: "Create and change event types from a file",
		Long: "Create and change event types so that they match a file. Unchanged ones are left alone;\n" +
			"so are those that the file doesn't name, unless --prune deletes them. If a schema is\n" +
			"invalid, or an example violates it, nothing is changed.",
		Example: "  holdfast event-type apply -f event-types.yaml --dry-run\n" +
			"  holdfast event-type apply -f event-types.yaml --reason 'release 42'",
	}, func(c *cobra.Command, a *cli.API, _ []string) error { return o.run(c, a) })
	cli.AddFileFlag(command, &o.file, "event-types.yaml")
	_ = command.MarkFlagRequired("file")
	cli.AddDryRunFlag(command, &o.dryRun)
	command.Flags().BoolVar(&o.prune, "prune", false, "delete what the file doesn't name")
	cli.AddYesFlag(command, "do not ask (with --prune)")
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

type applyOptions struct {
	file          string
	dryRun, prune bool

	data  []byte
	types map[string]eventtype.EventType
}

func (o *applyOptions) run(c *cobra.Command, a *cli.API) (err error) {
	if o.data, err = cli.ReadBody(c.InOrStdin(), o.file); err != nil {
		return err
	}
	if o.types, err = readFile(o.data); err != nil {
		return fmt.Errorf("%s: %w", o.file, err)
	}
	plan, err := o.apply(c, a, true)
	if err != nil {
		return err
	}
	if o.dryRun {
		return printPlan(c, plan)
	}
	if n := plan.Count(declared.Delete); n > 0 && !cli.Confirm(c, fmt.Sprintf("Delete %d that the file doesn't name?", n)) {
		return errors.New("nothing was changed (--yes deletes without asking, --dry-run shows what)")
	}
	done, err := o.apply(c, a, false)
	if err != nil {
		return err
	}
	if err = printPlan(c, done); done.Problem != "" {
		err = errors.Join(err, errors.New(cli.Printable(done.Problem)))
	}
	return err
}

func printPlan(c *cobra.Command, done eventtypeapi.AppliedEventTypes) error {
	return cli.Print(c, done, func(w io.Writer) error { return destination.WritePlan(w, done.Plan) })
}

// apply makes the server as the file declares, or only plans it.
func (o *applyOptions) apply(c *cobra.Command, a *cli.API, isDryRun bool) (done eventtypeapi.AppliedEventTypes, err error) {
	if o.prune && len(o.types) == 0 {
		return done, errors.New("the file is empty, and --prune would delete everything: is it the right file?")
	}
	err = a.Change(c.Context(), http.MethodPost, "/event-types/apply", eventtypeapi.EventTypesRequest{
		Reasoned: cli.Reasoned(c), EventTypes: o.types, Prune: o.prune, DryRun: isDryRun,
	}, &done)
	var refused *cli.RefusalError
	if errors.As(err, &refused) && len(refused.Problems) > 0 {
		err = fmt.Errorf("%s:\n%w", o.file, destination.ProblemsOf(o.data, refused.Problems))
	}
	return done, err
}

// readFile parses event-types.yaml. Errors about unknown, repeated and invalid fields have the line.
func readFile(data []byte) (map[string]eventtype.EventType, error) {
	if err := definition.CheckNesting(data); err != nil {
		return nil, err
	}
	var content struct {
		EventTypes map[string]eventtype.EventType `yaml:"event_types"`
	}
	documents := yaml.NewDecoder(bytes.NewReader(data), destination.Decoding()...)
	if err := documents.Decode(&content); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New(yaml.FormatError(err, false, true))
	}
	if err := documents.Decode(&struct{}{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file has more than one document")
	}
	return content.EventTypes, nil
}
