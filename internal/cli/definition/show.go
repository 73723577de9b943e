package definition

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/providers"
)

func showCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show a definition as it applies, after all that it extends",
		Args:  cobra.ExactArgs(1),
		RunE: withCatalogue(func(c *cobra.Command, catalogue *providers.Catalogue, args []string) error {
			p, err := cli.FindProvider(catalogue, args[0])
			if err != nil {
				return err
			}
			return writeProvider(c.OutOrStdout(), p)
		}),
	}
}

// writeProvider writes a definition that could be used as it is, below comments.
func writeProvider(w io.Writer, p *providers.Provider) error {
	listed := newListedProvider(p)
	source := string(listed.Source)
	if p.Extends() != "" {
		source += ", extends " + p.Extends()
	}
	fmt.Fprintf(w, "# source:  %s\n# paths:   %s\n# auth:    %s\n", source, strings.Join(p.Paths(), " "),
		strings.Join(p.Schemes(), " | "))
	fmt.Fprintf(w, "# limits:  %s\n# redrive: %s\n# secrets: %s\n", limits(p), redriveOf(p.Redrive()),
		strings.Join(listed.Secrets, " "))
	if fmt.Fprintf(w, "# state:   %s", listed.state()); !listed.Open {
		fmt.Fprintf(w, " (%s)", listed.Closed)
	}
	text, err := p.Definition()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n\n%s", text)
	return err
}
