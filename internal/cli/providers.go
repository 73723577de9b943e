package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/config"
	"holdfast/internal/word"
	"holdfast/providers"
)

// FindProvider returns the provider of that name; the error suggests the probable name, or lists all.
func FindProvider(c *cobra.Command, catalogue *providers.Catalogue, name string) (*providers.Provider, error) {
	if provider, ok := catalogue.Lookup(name); ok {
		return provider, nil
	}
	if near := word.Nearest(name, catalogue.Names()); near != "" {
		return nil, UsageError(c, fmt.Errorf("no provider %q; did you mean %s?", name, near))
	}
	return nil, UsageError(c, fmt.Errorf("no provider %q; known providers: %s", name, strings.Join(catalogue.Names(), ", ")))
}

// WarnUnknownProvider notes, next to an empty result, that no definition has the requested name. That isn't an error:
// received events outlive their definition.
func WarnUnknownProvider(c *cobra.Command, cfg config.Config, name string, found int) {
	if name == "" || found > 0 {
		return
	}
	catalogue, err := providers.Load(cfg.Providers.Dir)
	if err != nil {
		return // `holdfast doctor` reports it
	}
	if _, known := catalogue.Lookup(name); known {
		return
	}
	doubt := fmt.Sprintf("holdfast: no definition is named %q", name)
	if near := word.Nearest(name, catalogue.Names()); near != "" {
		doubt += "; did you mean " + near + "?"
	}
	fmt.Fprintln(c.ErrOrStderr(), doubt)
}
