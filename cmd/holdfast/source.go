package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// addSourceFlag adds the filter by the sender within a provider.
func addSourceFlag(command *cobra.Command, source *string) {
	command.Flags().StringVar(source, "source", "", "with --provider: only those of this source (an instance, an account)")
}

// checkSource refuses a source without its provider: two providers may use the same name.
func checkSource(provider, source string) error {
	if source != "" && provider == "" {
		return fmt.Errorf("--source %q: want --provider beside it", source)
	}
	return nil
}
