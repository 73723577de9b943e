package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/internal/dev"
	"holdfast/internal/process"
	"holdfast/internal/stores"
)

func serveCommand() *cobra.Command {
	return roleCommand("serve", "Run ingress, workers and operator side in one process",
		process.RoleIngress|process.RoleWorker|process.RoleOperator)
}

func ingressCommand() *cobra.Command {
	return roleCommand("ingress", "Run the public HTTP side only", process.RoleIngress)
}

func workerCommand() *cobra.Command {
	return roleCommand("worker", "Run workers only", process.RoleWorker)
}

func operatorCommand() *cobra.Command {
	return roleCommand("operator", "Run the private HTTP side only", process.RoleOperator)
}

func roleCommand(name, short string, roles process.Roles) *cobra.Command {
	return &cobra.Command{
		Use:     name,
		Short:   short,
		Example: "  holdfast " + name + "     # configured by variables: holdfast config",
		GroupID: cli.GroupRun,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := config.Load()
			if err != nil {
				return err
			}
			return process.Run(c.Context(), cfg, name, roles, process.Development{}, func() {})
		},
	}
}

func devCommand() *cobra.Command {
	var options dev.Options
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
			return dev.Run(c.Context(), cfg, c.OutOrStdout(), options)
		},
	}
	command.Flags().BoolVarP(&options.Verbose, "verbose", "v", false,
		"log everything that HOLDFAST_LOG_LEVEL allows, not only warnings")
	return command
}

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
			cli.WarnOfRenamed(c, cfg)
			if wait {
				return stores.Await(c.Context(), cfg, func(reason string) {
					fmt.Fprintln(c.ErrOrStderr(), "waiting:", reason)
				})
			}
			if err := stores.Prepare(c.Context(), cfg); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), stores.UpToDate)
			return err
		},
	}
	command.Flags().BoolVar(&wait, "wait-only", false,
		"change nothing, and wait until another process has migrated the database")
	return command
}
