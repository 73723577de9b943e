package cli

import (
	"log/slog"
	"os"
	"sync"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"holdfast/event"
	"holdfast/internal/config"
	"holdfast/internal/installation"
	"holdfast/persistence"
	"holdfast/providers"
	"holdfast/redrive"
	"holdfast/runs"
)

// Tools are what the commands of an operator work with.
type Tools struct {
	Cfg      config.Config
	Store    *persistence.Store
	Temporal client.Client
}

// WithTools opens the stores for a command and closes them after it.
func WithTools(run func(*cobra.Command, *Tools, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if err := checkSource(c); err != nil {
			return err
		}
		cfg, _, err := config.LoadBesideDev()
		if err != nil {
			return err
		}
		installation.SetLogger(config.Log{Level: slog.LevelWarn, Format: config.LogText}, os.Stderr)
		store, err := installation.OpenStore(c.Context(), cfg, nil)
		if err != nil {
			return withoutDatabase(c, err)
		}
		defer store.Close()
		temporal, err := installation.NewTemporalClient(cfg, nil, nil)
		if err != nil {
			return err
		}
		defer temporal.Close()
		return outage(c, cfg, run(c, &Tools{Cfg: cfg, Store: store, Temporal: temporal}, args))
	}
}

// Parser reads events with the definitions that this program has.
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

// Rebuilds is what reads stored events again.
func (t *Tools) Rebuilds() *redrive.Rebuilds {
	return redrive.NewRebuilds(t.Store.Rebuilds, t.starter(), t.Parser())
}

// Imports is what applies the data of another system.
func (t *Tools) Imports() *redrive.Imports { return redrive.NewImports(t.Store.Imports, t.starter()) }

// Resends is what sends the events of a time again.
func (t *Tools) Resends() *redrive.Resends { return redrive.NewResends(t.Store.Resends, t.starter()) }

// Redrives is what runs many dead letters again.
func (t *Tools) Redrives() *redrive.Redrives {
	return redrive.NewRedrives(t.Store.Redrives, t.starter())
}

// Replays is what runs one dead letter again.
func (t *Tools) Replays() *redrive.Replays {
	return &redrive.Replays{Letters: t.Store.ReplayView(), Runs: t.starter()}
}

func (t *Tools) starter() *runs.Starter {
	return runs.NewStarter(t.Temporal, t.Cfg.PayloadCodec().DataConverter())
}

// Runs is what Temporal knows of the runs of events.
func (t *Tools) Runs() *runs.Reader {
	return runs.NewReader(t.Temporal, t.Cfg.PayloadCodec().DataConverter())
}
