package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/internal/config"
	"holdfast/internal/word"
	"holdfast/providers"
)

// FindProvider returns the provider of that name. The error suggests the probable name, or else the nearest three. If no own
// definition is loaded, it says how they are found.
func FindProvider(c *cobra.Command, catalogue *providers.Catalogue, name string) (*providers.Provider, error) {
	if provider, ok := catalogue.Lookup(name); ok {
		return provider, nil
	}
	all := catalogue.Names()
	advice := "did you mean " + word.Nearest(name, all) + "?"
	if word.Nearest(name, all) == "" {
		advice = fmt.Sprintf("did you mean %s? `holdfast provider list` lists all %d",
			word.Alternatives(word.NearestOf(name, all, 3)), len(all))
	}
	if len(catalogue.OwnNames()) == 0 {
		advice += "; for a definition of your own, set HOLDFAST_PROVIDERS_DIR to its folder"
	}
	return nil, UsageError(c, fmt.Errorf("no provider %q; %s", name, advice))
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
