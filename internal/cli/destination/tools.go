package destination

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

// named returns a command about the object that its argument names.
func named(kind, verb, short, example string, run func(*cobra.Command, *cli.API, string) error) *cobra.Command {
	return cli.WithJSON(cli.WithAPI(&cobra.Command{
		Use: verb + " " + strings.ToUpper(kind), Short: short, Example: example, Args: cobra.ExactArgs(1),
	}, func(c *cobra.Command, a *cli.API, args []string) error { return run(c, a, args[0]) }))
}

// pathOf returns the route of an object, or of an action on it.
func pathOf(kind, name string, action ...string) string {
	return cli.Path(append([]string{kind + "s", name}, action...)...)
}

// read and change call the route of an object; the error of one that doesn't exist names it.
func read(c *cobra.Command, a *cli.API, kind, name string, into any) error {
	return notFound(a.Read(c.Context(), pathOf(kind, name), nil, into), kind, name)
}

func change(c *cobra.Command, a *cli.API, method, kind, name, action string, body, into any) error {
	path := pathOf(kind, name)
	if action != "" {
		path = pathOf(kind, name, action)
	}
	return notFound(a.Change(c.Context(), method, path, body, into), kind, name)
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

// notFound replaces an error that no object has this name.
func notFound(err error, kind, name string) error {
	if errors.Is(err, event.ErrNotFound) {
		return cli.NotFound("there is no %s %q: holdfast %s list", kind, name, kind)
	}
	return err
}

// namedEvent returns the ID of the event that a flag names; "" for "".
func namedEvent(c *cobra.Command, a *cli.API, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	return a.FindEvent(c.Context(), text)
}
