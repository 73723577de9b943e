package definition

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/providers"
	"holdfast/providers/definition"
)

// listedProvider is a line of the list.
type listedProvider struct {
	Name    string            `json:"name"`
	Title   string            `json:"title"`
	Paths   []string          `json:"paths"`
	Secrets []string          `json:"secrets"`
	Open    bool              `json:"open"`
	Closed  string            `json:"closed_because,omitempty"`
	Source  definition.Origin `json:"source"`
}

func newListedProvider(p *providers.Provider) listedProvider {
	listed := listedProvider{
		Name: p.Name(), Title: p.Title(), Paths: p.Paths(), Secrets: p.SecretNames(), Open: true, Source: p.Origin(),
	}
	if err := p.CheckSecrets(); err != nil {
		listed.Open, listed.Closed = false, err.Error()
	}
	return listed
}

// state is "open" if somebody can be authenticated with the secrets as they are configured.
func (l listedProvider) state() string {
	if l.Open {
		return "open"
	}
	return "closed"
}

func listCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List the providers: their paths, whether a secret is configured, where the definition comes from",
		Args:  cobra.NoArgs,
		RunE: withCatalogue(func(c *cobra.Command, catalogue *providers.Catalogue, _ []string) error {
			var all []listedProvider
			for _, name := range catalogue.Names() {
				p, _ := catalogue.Lookup(name)
				all = append(all, newListedProvider(p))
			}
			return cli.Print(c, all, func(w io.Writer) error {
				table := cli.NewTable(w, "NAME", "TITLE", "SECRET", "SOURCE", "PATHS")
				for _, l := range all {
					table.Row(l.Name, l.Title, l.state(), string(l.Source), strings.Join(l.Paths, " "))
				}
				return table.Flush()
			})
		}),
	}
	cli.AddJSONFlag(command)
	return command
}
