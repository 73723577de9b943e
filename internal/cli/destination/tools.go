package destination

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/delivery/admin"
	"holdfast/event"
	"holdfast/internal/cli"
	"holdfast/internal/stores"
	"holdfast/providers"
)

// tools adds the desk to the tools of all commands.
type tools struct {
	*cli.Tools
	*stores.DeliveryAdmin
}

func withTools(run func(*cobra.Command, *tools, []string) error) func(*cobra.Command, []string) error {
	return cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
		all, err := newTools(t)
		if err != nil {
			return err
		}
		defer all.Close()
		return run(c, all, args)
	})
}

func newTools(t *cli.Tools) (*tools, error) {
	catalogue, err := providers.Load(t.Cfg.Providers.Dir)
	if err != nil {
		return nil, err
	}
	samples := admin.Samples{Names: catalogue.Names, Lookup: catalogue.Lookup}
	return &tools{Tools: t, DeliveryAdmin: stores.NewDeliveryAdmin(t.Cfg, t.Store, t.Temporal, samples)}, nil
}

// named returns a command about the object that its argument names.
func named(kind, verb, short, example string, run func(*cobra.Command, *tools, string) error) *cobra.Command {
	return cli.WithJSON(&cobra.Command{
		Use: verb + " " + strings.ToUpper(kind), Short: short, Example: example, Args: cobra.ExactArgs(1),
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error { return run(c, t, args[0]) }),
	})
}

// done confirms an action, or prints the value as JSON.
func done(c *cobra.Command, value any, format string, args ...any) error {
	return cli.Print(c, value, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, format+"\n", args...)
		return err
	})
}

// printSecret prints a secret, once.
func printSecret(w io.Writer, destination, secret string) {
	if secret != "" {
		fmt.Fprintf(w, "secret of %s (give it to the endpoint; it is shown only once):\n  %s\n", destination, secret)
	}
}

// writeWarnings prints likely mistakes.
func writeWarnings(w io.Writer, indent string, warnings []string) {
	for _, text := range warnings {
		fmt.Fprintf(w, "%swarning: %s\n", indent, cli.Printable(text))
	}
}

// notFound replaces a store's error by one that says that no object has this name.
func notFound(err error, kind, name string) error {
	if errors.Is(err, event.ErrNotFound) {
		return fmt.Errorf("there is no %s %q: holdfast %s list", kind, name, kind)
	}
	return err
}

// resolve returns the object of a name; nothing for "".
func resolve[T any](
	ctx context.Context, kind, name string, read func(context.Context, string) (T, error), idOf func(T) int64,
) (int64, error) {
	if name == "" {
		return 0, nil
	}
	found, err := read(ctx, name)
	if err != nil {
		return 0, notFound(err, kind, name)
	}
	return idOf(found), nil
}
