package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/config"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/lint"
)

func providerCheckCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "check [FILE | DIR]",
		Short: "Check definitions, and run their samples (exit 1 if there is something to say)",
		Long: "Check one definition or those of a folder; without an argument those that are built in and those of\n" +
			"HOLDFAST_PROVIDERS_DIR. What a definition extends is looked for beside it and among the built-in ones.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, _, err := config.LoadBesideDev()
			if err != nil {
				return err
			}
			return checkProviders(c, cfg, args)
		},
	}
	addJSONFlag(command)
	return command
}

func checkProviders(c *cobra.Command, cfg config.Config, args []string) (err error) {
	var checked lint.Checked
	if len(args) == 0 {
		checked, err = lint.CheckAll(cfg.Providers.Dir, secretsToCheck(cfg))
	} else {
		checked, err = lint.CheckPath(args[0], secretsToCheck(cfg))
	}
	if err != nil {
		return err
	}
	checked.Findings = append([]lint.Finding{}, checked.Findings...) // none is [] in JSON
	err = printValue(c, checked, func(w io.Writer) error {
		for _, f := range checked.Findings {
			fmt.Fprintln(w, printable(f.String()))
		}
		if len(checked.Findings) == 0 {
			fmt.Fprintf(w, "ok: %s\n", strings.Join(checked.Names, ", "))
		}
		return nil
	})
	if n := len(checked.Findings); err == nil && n > 0 {
		return fmt.Errorf("%d to correct", n)
	}
	return err
}

// secretsToCheck gives a secret that is configured and cannot be read as an empty one, where a role would see none.
func secretsToCheck(cfg config.Config) auth.Secrets {
	return func(name string) []string {
		if secrets := cfg.Secrets(name); secrets != nil || !cfg.HasSecret(name) {
			return secrets
		}
		return []string{""}
	}
}

func providerNewCommand() *cobra.Command {
	var dir string
	var oldPaths bool
	command := &cobra.Command{
		Use:   "new NAME",
		Short: "Print a commented definition to begin with, or write it into a folder",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			begin := providers.Skeleton
			if oldPaths {
				begin = providers.OldPaths
			}
			text, err := begin(args[0])
			if err != nil {
				return err
			}
			if dir == "" {
				_, err = fmt.Fprint(c.OutOrStdout(), text)
				return err
			}
			return writeSkeleton(c.OutOrStdout(), filepath.Join(dir, args[0]+".yaml"), text)
		},
	}
	command.Flags().StringVar(&dir, "dir", "", "folder to write NAME.yaml into; a file that is there already is left alone")
	command.Flags().BoolVar(&oldPaths, "old-paths", false,
		"an override that opens the paths of the system that the provider's events went to before")
	return command
}

func writeSkeleton(w io.Writer, path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "wrote %s\n", path)
	return err
}
