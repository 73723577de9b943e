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
			return migrate(c, cfg)
		},
	}
}

func migrate(c *cobra.Command, cfg config.Config) error {
	if err := cfg.RequireDatabase(); err != nil {
		return err
	}
	if err := migrations.Up(c.Context(), cfg.Database.URL.Reveal()); err != nil {
		return err
	}
	if err := enforceVerdicts(c.Context(), cfg); err != nil {
		return err
	}
	temporal, err := newTemporalClient(cfg, nil, nil)
	if err != nil {
		return err
	}
	defer temporal.Close()
	if err := registerSearchAttributes(c.Context(), temporal, cfg.Temporal.Namespace); err != nil {
		return err
	}
	if err := ensureSchedules(c.Context(), temporal, schedules(cfg)...); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), "database and namespace are up to date")
	return err
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
