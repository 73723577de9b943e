package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/internal/installation"
)

func migrateCommand() *cobra.Command {
	var wait bool
	command := &cobra.Command{
		Use:     "migrate",
		Short:   "Migrate the database and prepare Temporal's namespace",
		Example: "  holdfast migrate\n  holdfast migrate --wait-only     # while another process does it",
		GroupID: cli.GroupRun,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := config.Load()
			if err != nil {
				return err
			}
			if wait {
				return installation.Await(c.Context(), cfg, func(reason string) {
					fmt.Fprintln(c.ErrOrStderr(), "waiting:", reason)
				})
			}
			if err := installation.Prepare(c.Context(), cfg); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), installation.UpToDate)
			return err
		},
	}
	command.Flags().BoolVar(&wait, "wait-only", false,
		"change nothing, and wait until another process has migrated the database")
	return command
}
