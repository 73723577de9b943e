package definition

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/internal/lint"
	"holdfast/operator/httpapi"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
	"holdfast/providers/receiving"
)

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
					table.Row(l.Name, l.Title, string(l.Secret), string(l.Source), l.Evidence.Text(), strings.Join(l.Paths, " "))
				}
				return table.Flush()
			})
		}),
	}
	cli.AddJSONFlag(command)
	cli.AddWideFlag(command)
	return command
}

// Command returns `holdfast provider`.
func Command() *cobra.Command {
	return cli.Group("provider", "List, connect, check, try and create providers",
		"  holdfast provider list\n  holdfast provider check my-providers\n"+
			"  holdfast provider explain stripe --file body.json --sign",
		listCommand(), showCommand(), connectCommand(), checkCommand(), explainCommand(), refusalsCommand(), queuesCommand(),
		newCommand())
}

// withCatalogue passes the definitions and secrets to a command, as a role started here would have them.
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
		rate := receiving.NewRate(cfg.Providers.Rate.Requests, cfg.Providers.Rate.Per)
		return run(c, catalogue.WithSecrets(cfg.Secrets).WithRate(rate), args)
	}
}

// replaying returns how a role started here would replay dead events.
func replaying() (lint.Replaying, error) {
	cfg, _, err := config.LoadBesideDev()
	return lint.Replaying{Base: cfg.Replay.Base, Attempts: cfg.Replay.Attempts, Off: !cfg.Replay.Automatic}, err
}

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
	fmt.Fprintf(w, "# source:  %s\n# proof:   %s\n# paths:   %s\n# auth:    %s\n", source, listed.Evidence.Text(),
		strings.Join(p.Paths(), " "), strings.Join(p.Schemes(), " | "))
	otherwise, err := replaying()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "# limits:  %s\n# replay: %s\n# secrets: %s\n", lint.Limits(p), lint.ReplayOf(p, otherwise),
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
