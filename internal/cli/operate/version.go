package operate

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/internal/buildinfo"
	"holdfast/internal/cli"
)

// VersionCommand is `holdfast version`.
func VersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say which build this is",
		GroupID: cli.GroupOperate,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), buildinfo.Read())
			return err
		},
	}
}
