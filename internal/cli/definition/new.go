package definition

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/lint"
	"holdfast/providers"
)

func newCommand() *cobra.Command {
	var dir, from, secret string
	var oldPaths bool
	command := &cobra.Command{
		Use:     "new NAME",
		Short:   "Print a commented definition to start with, or write it",
		Example: "  holdfast provider new acme\n  holdfast provider new acme --dir my-providers",
		RunE: func(c *cobra.Command, args []string) error {
			begin := providers.Skeleton
			if oldPaths {
				begin = providers.OldPaths
			}
			if from != "" {
				begin = func(name string) (string, error) { return guess(c, name, from, secret) }
			}
			text, err := begin(args[0])
			if err != nil {
				return cli.UsageError(c, err)
			}
			if dir == "" {
				_, err = fmt.Fprint(c.OutOrStdout(), text)
				return err
			}
			return writeSkeleton(c.OutOrStdout(), filepath.Join(dir, args[0]+".yaml"), text)
		},
	}
	command.Flags().StringVar(&dir, "dir", "", "the folder to write NAME.yaml into (existing files aren't overwritten)")
	command.Flags().StringVar(&from, "from", "",
		"read from there: a captured request to guess from, with headers, a blank line and the body, or curl (- is standard input)")
	command.Flags().StringVar(&secret, "secret", "",
		"a secret instead of the configured ones: find out how the sender signs (it isn't written)")
	command.Flags().BoolVar(&oldPaths, "old-paths", false,
		"start an override that serves the paths of the previous system")
	return command
}

// guess makes a definition from a captured request, and reports what it found and what is unknown.
func guess(c *cobra.Command, name, from, secret string) (string, error) {
	if _, err := providers.Skeleton(name); err != nil {
		return "", err // not a name
	}
	text, err := cli.ReadBody(c.InOrStdin(), from)
	if err != nil {
		return "", err
	}
	pasted, err := lint.ReadPasted(string(text))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", from, err)
	}
	g := lint.GuessDefinition(name, pasted, secret)
	for _, found := range g.Found {
		fmt.Fprintln(c.ErrOrStderr(), cli.Printable("found: "+found))
	}
	for _, open := range g.Open {
		fmt.Fprintln(c.ErrOrStderr(), cli.Printable("unknown: "+open))
	}
	return g.Definition, nil
}

func writeSkeleton(w io.Writer, path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "wrote %s\n", path)
	return err
}
