package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/internal/config"
)

// WarnOfRenamed names the settings that have the name of the release before.
func WarnOfRenamed(c *cobra.Command, cfg config.Config) {
	for _, r := range cfg.Renamed() {
		fmt.Fprintf(c.ErrOrStderr(), "warning: %s is the former name of %s\n", r.Former, r.Name)
	}
}
