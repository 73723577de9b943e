package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/config"
	"holdfast/providers"
	"holdfast/providers/definition"
)

func providerCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "provider",
		Short:   "List, show, check, try and begin definitions of providers",
		GroupID: groupOperate,
	}
	command.AddCommand(providerListCommand(), providerShowCommand(), providerCheckCommand(), providerExplainCommand(),
		providerNewCommand())
	return command
}

// withCatalogue gives a command the definitions and their secrets, as a role started here would have them.
func withCatalogue(
	run func(*cobra.Command, *providers.Catalogue, []string) error,
) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		cfg, _, err := config.LoadBesideDev()
		if err != nil {
			return err
		}
		catalogue, err := providers.Load(cfg.Providers.Dir)
		if err != nil {
			return err
		}
		return run(c, catalogue.WithSecrets(cfg.Secrets), args)
	}
}

func findProvider(catalogue *providers.Catalogue, name string) (*providers.Provider, error) {
	provider, ok := catalogue.Lookup(name)
	if !ok {
		return nil, fmt.Errorf("no provider %q; there are: %s", name, strings.Join(catalogue.Names(), ", "))
	}
	return provider, nil
}

// doubtProvider says beside an empty answer that no definition has the name that was asked for. That is no mistake: what was
// received outlives its definition.
func doubtProvider(c *cobra.Command, cfg config.Config, name string, found int) {
	if name == "" || found > 0 {
		return
	}
	catalogue, err := providers.Load(cfg.Providers.Dir)
	if err != nil {
		return // `holdfast doctor` tells it
	}
	if _, known := catalogue.Lookup(name); known {
		return
	}
	doubt := fmt.Sprintf("holdfast: no definition has the name %q", name)
	if near := event.Nearest(name, catalogue.Names()); near != "" {
		doubt += "; did you mean " + near + "?"
	}
	fmt.Fprintln(c.ErrOrStderr(), doubt)
}

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

func providerListCommand() *cobra.Command {
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
			return printValue(c, all, func(w io.Writer) error {
				table := newTable(w, "NAME", "TITLE", "SECRET", "SOURCE", "PATHS")
				for _, l := range all {
					table.row(l.Name, l.Title, l.state(), string(l.Source), strings.Join(l.Paths, " "))
				}
				return table.flush()
			})
		}),
	}
	addJSONFlag(command)
	return command
}

func providerShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show a definition as it applies, after all that it extends",
		Args:  cobra.ExactArgs(1),
		RunE: withCatalogue(func(c *cobra.Command, catalogue *providers.Catalogue, args []string) error {
			p, err := findProvider(catalogue, args[0])
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
