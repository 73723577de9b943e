package main

import (
	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/internal/dev"
)

func devCommand() *cobra.Command {
	var verbose bool
	command := &cobra.Command{
		Use:     "dev",
		Short:   "Run everything on this machine: PostgreSQL, Temporal, all roles",
		Example: "  holdfast dev     # the same as: make run",
		GroupID: cli.GroupRun,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := config.Load()
			if err != nil {
				return err
			}
			return dev.Run(c.Context(), cfg, c.OutOrStdout(), verbose)
		},
	}
	command.Flags().BoolVarP(&verbose, "verbose", "v", false, "log everything that HOLDFAST_LOG_LEVEL allows, not only warnings")
	return command
}
