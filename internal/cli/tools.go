package cli

import (
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"holdfast/event"
	"holdfast/internal/config"
	"holdfast/internal/stores"
	"holdfast/operator/launch"
	"holdfast/persistence"
	"holdfast/providers"
	"holdfast/workflows/runs"
)

// Tools opens the stores and clients of operators' commands.
type Tools struct {
	Cfg      config.Config
	Store    *persistence.Store
	Temporal client.Client
}

// WithTools opens the stores for a command and closes them afterwards.
func WithTools(run func(*cobra.Command, *Tools, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if err := checkSource(c); err != nil {
			return err
		}
		cfg, _, err := config.LoadBesideDev()
		if err != nil {
			return err
		}
		stores.SetLogger(config.Log{Level: slog.LevelWarn, Format: config.LogText}, os.Stderr)
		store, err := stores.OpenStore(c.Context(), cfg, nil)
		if err != nil {
			return withoutDatabase(c, err)
		}
		defer store.Close()
		temporal, err := stores.NewTemporalClient(cfg, nil, nil)
		if err != nil {
			return err
		}
		defer temporal.Close()
		if err = run(c, &Tools{Cfg: cfg, Store: store, Temporal: temporal}, args); err != nil {
			return outage(c, cfg, err)
		}
		return nil
	}
}

// WarnOfRenamed names the settings that have the name of the release before.
func WarnOfRenamed(c *cobra.Command, cfg config.Config) {
	for _, r := range cfg.Renamed() {
		fmt.Fprintf(c.ErrOrStderr(), "warning: %s is the former name of %s\n", r.Former, r.Name)
	}
}

// Parser returns a parser with this program's definitions.
func (t *Tools) Parser() event.Parser {
	load := sync.OnceValues(func() (*providers.Catalogue, error) { return providers.Load(t.Cfg.Providers.Dir) })
	return func(r event.Receipt, body []byte) (event.Parsed, error) {
		catalogue, err := load()
		if err != nil {
			return event.Parsed{}, err
		}
		return providers.Parser(catalogue.Lookup)(r, body)
	}
}

// Imports returns the service for imports.
func (t *Tools) Imports() *launch.Imports { return launch.NewImports(t.Store.Imports, t.starter()) }

func (t *Tools) starter() *runs.Starter {
	return runs.NewStarter(t.Temporal, t.Cfg.PayloadCodec().DataConverter())
}
