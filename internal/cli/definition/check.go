package definition

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/internal/lint"
	"holdfast/providers/auth"
)

func checkCommand() *cobra.Command {
	var forCatalogue bool
	command := cli.WithJSON(&cobra.Command{
		Use:   "check [FILE | DIR]",
		Short: "Check definitions, run their samples (exit 1 if one is wrong)",
		Long: "Check one definition or those in a folder; without an argument, the built-in ones and\n" +
			"those in HOLDFAST_PROVIDERS_DIR. A definition can extend one in its folder or a\n" +
			"built-in one. --catalogue adds advice on what the catalogue asks of its definitions.",
		Example: "  holdfast provider check my-providers/acme.yaml\n" +
			"  holdfast provider check my-providers --json | jq '.findings[]'",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, _, err := config.LoadBesideDev()
			if err != nil {
				return err
			}
			return checkProviders(c, cfg, args, forCatalogue)
		},
	})
	command.Flags().BoolVar(&forCatalogue, "catalogue", false, "also print advice for definitions that are meant for the catalogue")
	return command
}

func checkProviders(c *cobra.Command, cfg config.Config, args []string, withAdvice bool) (err error) {
	var checked lint.Checked
	if len(args) == 0 {
		checked, err = lint.CheckAll(cfg.Providers.Dir, secretsToCheck(cfg))
	} else {
		checked, err = lint.CheckPath(args[0], secretsToCheck(cfg))
	}
	if err != nil {
		return err
	}
	if !withAdvice {
		checked.Findings = checked.Problems()
	}
	checked.Findings = append([]lint.Finding{}, checked.Findings...) // encode none as [] in JSON
	err = cli.Print(c, checked, func(w io.Writer) error {
		for _, f := range checked.Findings {
			fmt.Fprintln(w, cli.Printable(f.String()))
		}
		for _, note := range checked.Notes {
			fmt.Fprintln(w, cli.Printable("note: "+note))
		}
		if len(checked.Problems()) == 0 {
			fmt.Fprintf(w, "ok: %s\n", strings.Join(checked.Names, ", "))
		}
		return nil
	})
	if n := len(checked.Problems()); err == nil && n > 0 {
		return fmt.Errorf("%d to fix", n)
	}
	return err
}

// secretsToCheck returns a configured but unreadable secret as an empty one; a role would see none.
func secretsToCheck(cfg config.Config) auth.Secrets {
	return func(name string) []string {
		if secrets := cfg.Secrets(name); secrets != nil || !cfg.HasSecret(name) {
			return secrets
		}
		return []string{""}
	}
}
