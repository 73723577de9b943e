package definition

import (
	"cmp"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/operator/httpapi"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
)

// listedProvider is a row of the list.
type listedProvider struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Paths   []string `json:"paths"`
	Secrets []string `json:"secrets"`
	// Secret reports whether requests can be authenticated; Because is the reason if not.
	Secret  auth.SecretState  `json:"secret"`
	Because denial.Reason     `json:"because,omitempty"`
	Source  definition.Origin `json:"source"`
	// Evidence is "" for a definition without sources.
	Evidence definition.Evidence `json:"evidence,omitempty"`
}

func newListedProvider(p *providers.Provider) listedProvider {
	listed := listedProvider{
		Name: p.Name(), Title: p.Title(), Paths: p.Paths(), Secrets: p.SecretNames(), Source: p.Origin(), Evidence: p.Evidence(),
	}
	listed.Secret, listed.Because = p.SecretState()
	return listed
}

func listCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List the providers, and whether a secret is configured",
		Long: "List the providers: their paths, whether a secret is configured, whether the\n" +
			"definition is built in or your own, and its evidence. Without a secret, no\n" +
			"request is authentic.",
		Example: "  holdfast provider list\n" +
			"  holdfast provider list --json | jq '.items[] | select(.secret != \"missing\")'",
		RunE: withCatalogue(func(c *cobra.Command, catalogue *providers.Catalogue, _ []string) error {
			var all httpapi.List[listedProvider]
			for _, name := range catalogue.Names() {
				p, _ := catalogue.Lookup(name)
				all.Items = append(all.Items, newListedProvider(p))
			}
			return cli.Print(c, all, func(w io.Writer) error {
				table := cli.NewTable(w, "NAME!", "TITLE", "SECRET", "SOURCE", "EVIDENCE", "PATHS")
				for _, l := range all.Items {
					evidence := cmp.Or(string(l.Evidence), "none")
					table.Row(l.Name, l.Title, string(l.Secret), string(l.Source), evidence, strings.Join(l.Paths, " "))
				}
				return table.Flush()
			})
		}),
	}
	cli.AddJSONFlag(command)
	cli.AddWideFlag(command)
	return command
}
