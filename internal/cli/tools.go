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
	"holdfast/moving"
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

// Rebuilds is what reads stored events again. A diff reads them with the definitions that this program has.
func (t *Tools) Rebuilds() *redrive.Rebuilds {
	load := sync.OnceValues(func() (*providers.Catalogue, error) { return providers.Load(t.Cfg.Providers.Dir) })
	return &redrive.Rebuilds{
		Books: t.Store, Runs: runs.NewStarter(t.Temporal, t.Cfg.PayloadCodec().DataConverter()),
		Parse: func(r event.Receipt, body []byte) (event.Parsed, error) {
			catalogue, err := load()
			if err != nil {
				return event.Parsed{}, err
			}
			return providers.Parser(catalogue.Lookup)(r, body)
		},
	}
}

// Imports is what brings the data of another system.
func (t *Tools) Imports() *moving.Imports {
	return &moving.Imports{Books: t.Store, Runs: runs.NewStarter(t.Temporal, t.Cfg.PayloadCodec().DataConverter())}
}

// Redrives is what runs dead letters again.
func (t *Tools) Redrives() *redrive.Service {
	starter := runs.NewStarter(t.Temporal, t.Cfg.PayloadCodec().DataConverter())
	return &redrive.Service{Letters: t.Store, Books: t.Store, Runs: starter}
}

// Runs is what Temporal knows of the runs of events.
func (t *Tools) Runs() *runs.Reader {
	return runs.NewReader(t.Temporal, t.Cfg.PayloadCodec().DataConverter())
}
