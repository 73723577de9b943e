package destination

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"holdfast/delivery/declared"
	"holdfast/internal/cli"
	"holdfast/operator/api/deliveryapi"
)

func applyCommand() *cobra.Command {
	var o applyOptions
	command := cli.WithAPI(&cobra.Command{
		Use:   "apply -f FILE",
		Short: "Create and change destinations and subscriptions from a file",
		Long: "Create and change destinations and subscriptions so that they match a file. Unchanged\n" +
			"ones are left alone; so are those that the file doesn't name, unless --prune deletes\n" +
			"them. An HTTP destination without a variable for its secrets gets a generated secret,\n" +
			"which is shown once.",
		Example: "  holdfast subscription apply -f subscriptions.yaml --dry-run\n" +
			"  holdfast subscription apply -f subscriptions.yaml --reason 'release 42'\n" +
			"  holdfast subscription apply -f subscriptions.yaml --prune --yes",
	}, func(c *cobra.Command, a *cli.API, _ []string) error { return o.run(c, a) })
	flags := command.Flags()
	cli.AddFileFlag(command, &o.file, "subscriptions.yaml")
	_ = command.MarkFlagRequired("file")
	cli.AddDryRunFlag(command, &o.dryRun)
	flags.BoolVar(&o.prune, "prune", false, "delete what the file doesn't name")
	cli.AddYesFlag(command, "do not ask (with --prune)")
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

type applyOptions struct {
	file          string
	dryRun, prune bool
}

func (o *applyOptions) run(c *cobra.Command, a *cli.API) error {
	text, err := cli.ReadBody(c.InOrStdin(), o.file)
	if err != nil {
		return err
	}
	f, err := readFile(text)
	if err != nil {
		return fmt.Errorf("%s: %w", o.file, err)
	}
	plan, err := f.apply(c, a, o.prune, true)
	if err != nil {
		return o.explain(err)
	}
	if o.dryRun {
		return cli.Print(c, plan, func(w io.Writer) error { return WritePlan(w, plan.Plan) })
	}
	if n := plan.Count(declared.Delete); n > 0 && !cli.Confirm(c,
		fmt.Sprintf("Delete %d that the file doesn't name, and cancel %d waiting deliveries?", n, plan.Canceled())) {
		return errors.New("nothing was changed (--yes deletes without asking, --dry-run shows what)")
	}
	done, err := f.apply(c, a, o.prune, false)
	if err != nil {
		return o.explain(err)
	}
	return errors.Join(cli.Print(c, done, func(w io.Writer) error {
		if err := WritePlan(w, done.Plan); err != nil {
			return err
		}
		for _, name := range sorted(done.Secrets) {
			printSecret(w, name, done.Secrets[name])
		}
		return nil
	}), problemOf(done))
}

// explain adds what is wrong with the file.
func (o *applyOptions) explain(err error) error {
	var wrong *mistakesError
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("%s:\n%w", o.file, err)
	case o.prune && errors.Is(err, errNothingDeclared):
		return errors.New("the file is empty, and --prune would delete everything: is it the right file?")
	}
	return err
}

var errNothingDeclared = errors.New("the file is empty")

type mistakesError struct{ error }

// apply makes the server as the file declares, or only plans it.
func (f file) apply(c *cobra.Command, a *cli.API, prune, isDryRun bool) (done deliveryapi.Applied, err error) {
	if prune && len(f.Destinations)+len(f.Subscriptions) == 0 {
		return done, errNothingDeclared
	}
	err = a.Change(c.Context(), http.MethodPost, "/subscriptions/apply", deliveryapi.ApplyRequest{
		Reasoned: cli.Reasoned(c), State: f.State, Secrets: f.secrets, Prune: prune, DryRun: isDryRun,
	}, &done)
	var refused *cli.RefusalError
	if errors.As(err, &refused) && len(refused.Problems) > 0 {
		err = &mistakesError{ProblemsOf(f.data, refused.Problems)}
	}
	return done, err
}

func problemOf(done deliveryapi.Applied) error {
	if done.Problem == "" {
		return nil
	}
	return errors.New(cli.Printable(done.Problem))
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
