package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/internal/installation"
)

func migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "migrate",
		Short:   "Bring the database up to date and prepare the namespace of Temporal",
		GroupID: cli.GroupRun,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := config.Load()
			if err != nil {
				return err
			}
			if err := installation.Prepare(c.Context(), cfg); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), installation.UpToDate)
			return err
		},
	}
}
