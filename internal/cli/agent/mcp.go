package agent

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"holdfast/internal/buildinfo"
	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/operator/agents"
)

const example = `  # an agent on this machine reads what is wrong
  claude mcp add holdfast -- holdfast mcp

  # the agent may also replay what a person has agreed to
  claude mcp add holdfast -- holdfast mcp --allow-write`

// Command returns `holdfast mcp`.
func Command() *cobra.Command {
	var flags cli.APIFlags
	var writes bool
	command := &cobra.Command{
		Use:   "mcp",
		Short: "Let an agent see and repair what failed",
		Long: `Serves tools to an agent over standard input and output, by the Model Context Protocol.
The agent starts this command. The tools send requests to the operator API of a running
Holdfast, with the role of the token in ` + cli.TokenVariable + `, or in the file of
--token-file.

Without --allow-write, the tools only read. A running Holdfast serves the same tools
itself, at /mcp on its operator port.`,
		Example: example,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, _, err := config.LoadBesideDev()
			if err != nil {
				return err
			}
			api, err := flags.API(c, cfg)
			if err != nil {
				return err
			}
			server := agents.NewServer(agents.Options{
				URL: api.URL, Client: api.Client, Token: api.Token, Writes: writes, Version: buildinfo.Read().ID(),
			})
			if err := server.Run(c.Context(), &mcp.StdioTransport{}); err != nil && c.Context().Err() == nil {
				return fmt.Errorf("serve the agent: %w", err)
			}
			return nil
		},
	}
	flags.Add(command)
	command.Flags().BoolVar(&writes, "allow-write", false, "add the tools that change something")
	return command
}
