package main

import (
	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/internal/dev"
)

func devCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "dev",
		Short:   "Run everything on this machine: PostgreSQL, Temporal, and all roles (make run)",
		GroupID: cli.GroupRun,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := config.Load()
			if err != nil {
				return err
			}
			return dev.Run(c.Context(), cfg, c.OutOrStdout())
		},
	}
}
