package definition

import (
	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/providers"
)

// Command returns `holdfast provider`.
func Command() *cobra.Command {
	return cli.Group("provider", "List, show, check, try and create provider definitions",
		"  holdfast provider list\n  holdfast provider check my-providers\n"+
			"  holdfast provider explain stripe --file body.json --sign",
		listCommand(), showCommand(), checkCommand(), explainCommand(), refusalsCommand(), newCommand())
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
		rate := providers.NewRate(cfg.Providers.Rate.Requests, cfg.Providers.Rate.Per)
		return run(c, catalogue.WithSecrets(cfg.Secrets).WithRate(rate), args)
	}
}
