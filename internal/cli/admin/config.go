package admin

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/buildinfo"
	"holdfast/internal/cli"
	"holdfast/internal/config"
)

// ConfigCommand returns `holdfast config`.
func ConfigCommand() *cobra.Command {
	return cli.WithJSON(&cobra.Command{
		Use:   "config",
		Short: "Check the configuration and print it with secrets masked",
		Long: "Check the configuration and print it with secrets masked. Next to a dev stack (make run), it prints what " +
			"the other commands use: variables of the environment, then those of the stack.",
		Example: "  holdfast config\n  holdfast config --json | jq -r .HOLDFAST_OPERATOR_ADDR",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, _, err := config.LoadBesideDev()
			if err != nil {
				return err
			}
			cli.WarnOfRenamed(c, cfg)
			return cli.Print(c, settings(cfg.String()), func(w io.Writer) error {
				_, err := fmt.Fprint(w, cfg)
				return err
			})
		},
	})
}

// settings returns the variables of a configuration by name, as text.
func settings(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		all[name] = value
	}
	return all
}

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
