package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/internal/config"
	"holdfast/migrations"
)

func migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "migrate",
		Short:   "Bring the database up to date and prepare the namespace of Temporal",
		GroupID: groupRun,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := config.Load()
			if err != nil {
				return err
			}
			if err := migrate(c.Context(), cfg); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), upToDate)
			return err
		},
	}
}

// upToDate is what is printed once an installation is prepared.
const upToDate = "database and namespace are up to date"

// migrate prepares what an installation stands on: the tables, the namespace's search attributes, the schedules. It may run any
// number of times.
func migrate(ctx context.Context, cfg config.Config) error {
	if err := cfg.RequireDatabase(); err != nil {
		return err
	}
	if err := migrations.Up(ctx, cfg.Database.URL.Reveal()); err != nil {
		return err
	}
	if err := enforceVerdicts(ctx, cfg); err != nil {
		return err
	}
	temporal, err := newTemporalClient(cfg, nil, nil)
	if err != nil {
		return err
	}
	defer temporal.Close()
	if err := registerSearchAttributes(ctx, temporal, cfg.Temporal.Namespace); err != nil {
		return err
	}
	return ensureSchedules(ctx, temporal, schedules(cfg)...)
}

// enforceVerdicts takes back what events that were given up before there were verdicts have left on entities: a fold is no task
// for SQL.
func enforceVerdicts(ctx context.Context, cfg config.Config) error {
	store, err := openStore(ctx, cfg, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	_, err = store.EnforceVerdicts(ctx)
	return err
}
