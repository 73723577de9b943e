package main

import (
	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/internal/process"
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
			return process.Run(c.Context(), cfg, name, roles, nil, func() {})
		},
	}
}
