package definition

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/providers"
	"holdfast/providers/lint"
)

func showCommand() *cobra.Command {
	return cli.WithJSON(&cobra.Command{
		Use:     "show PROVIDER",
		Short:   "Show a definition, merged with the ones that it extends",
		Example: "  holdfast provider show stripe\n  holdfast provider show stripe --json | jq .definition.key",
		RunE: withCatalogue(func(c *cobra.Command, catalogue *providers.Catalogue, args []string) error {
			p, err := cli.FindProvider(c, catalogue, args[0])
			if err != nil {
				return err
			}
			return cli.Print(c, struct {
				listedProvider

				Definition map[string]any `json:"definition"`
			}{newListedProvider(p), p.Tree()}, func(w io.Writer) error { return writeProvider(w, p) })
		}),
	})
}

// writeProvider writes a usable definition below comments.
func writeProvider(w io.Writer, p *providers.Provider) error {
	listed := newListedProvider(p)
	source := string(listed.Source)
	if p.Extends() != "" {
		source += ", extends " + p.Extends()
	}
	fmt.Fprintf(w, "# source:  %s\n# paths:   %s\n# auth:    %s\n", source, strings.Join(p.Paths(), " "),
		strings.Join(p.Schemes(), " | "))
	fmt.Fprintf(w, "# limits:  %s\n# redrive: %s\n# secrets: %s\n", lint.Limits(p), lint.RedriveOf(p),
		strings.Join(listed.Secrets, " "))
	if fmt.Fprintf(w, "# state:   %s", listed.Secret); listed.Because != "" {
		fmt.Fprintf(w, " (%s)", listed.Because)
	}
	for _, replaced := range p.Replaced() {
		fmt.Fprintf(w, "\n# note:    %s", replaced)
	}
	text, err := p.Definition()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n\n%s", text)
	return err
}
