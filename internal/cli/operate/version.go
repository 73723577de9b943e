package operate

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holdfast/internal/buildinfo"
	"holdfast/internal/cli"
)

// VersionCommand returns `holdfast version`.
func VersionCommand() *cobra.Command {
	return cli.WithJSON(&cobra.Command{
		Use:     "version",
		Short:   "Print the build",
		Example: "  holdfast version\n  holdfast version --json | jq -r .revision",
		RunE: func(c *cobra.Command, _ []string) error {
			build := buildinfo.Read()
			return cli.Print(c, build, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, build)
				return err
			})
		},
	})
}
