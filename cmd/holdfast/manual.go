//go:build manual

// Only a release builds this file, so that the program has no code that renders man pages.

package main

import (
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"holdfast/internal/buildinfo"
)

func init() { extra = append(extra, manualCommand()) }

// manualCommand writes man pages and completions below a folder, as /usr/local/share has them. The pages have the date DATE.
func manualCommand() *cobra.Command {
	return &cobra.Command{
		Use: "manual DIR DATE", Hidden: true, Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			date, err := time.Parse(time.DateOnly, args[1])
			if err != nil {
				return err
			}
			return writeManual(c.Root(), args[0], date)
		},
	}
}

func writeManual(root *cobra.Command, dir string, date time.Time) error {
	completions := map[string]func(path string) error{
		"bash-completion/completions/holdfast":    func(path string) error { return root.GenBashCompletionFileV2(path, true) },
		"zsh/site-functions/_holdfast":            root.GenZshCompletionFile,
		"fish/vendor_completions.d/holdfast.fish": func(path string) error { return root.GenFishCompletionFile(path, true) },
	}
	for name, write := range completions {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := write(path); err != nil {
			return err
		}
	}
	pages := filepath.Join(dir, "man", "man1")
	if err := os.MkdirAll(pages, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true // of cobra, with the day
	return doc.GenManTree(root, &doc.GenManHeader{Date: &date, Source: "holdfast " + buildinfo.Version, Manual: "Holdfast"}, pages)
}
