package operate

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/config"
)

// ConfigCommand is `holdfast config`.
func ConfigCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "config",
		Short:   "Check the configuration and print it, without its secrets",
		GroupID: cli.GroupOperate,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := config.Load()
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(c.OutOrStdout(), cfg)
			return err
		},
	}
}
