package installation

import (
	"context"
	"errors"

	"holdfast/internal/config"
	"holdfast/migrations"
)

// UpToDate is what is printed once an installation is prepared.
const UpToDate = "database and namespace are up to date"

// Prepare prepares what an installation stands on: the tables, the namespace's search attributes, the schedules. It may run any
// number of times. Where Temporal refuses to add search attributes the rest is prepared, and the error, an *AttributesError,
// names those that are missing.
func Prepare(ctx context.Context, cfg config.Config) error {
	if err := cfg.RequireDatabase(); err != nil {
		return err
	}
	if err := migrations.Up(ctx, cfg.Database.URL.Reveal()); err != nil {
		return err
	}
	if err := finish(ctx, cfg); err != nil {
		return err
	}
	temporal, err := NewTemporalClient(cfg, nil, nil)
	if err != nil {
		return err
	}
	defer temporal.Close()
	missing := registerSearchAttributes(ctx, temporal, cfg.Temporal.Namespace)
	var attributes *AttributesError
	if missing != nil && !errors.As(missing, &attributes) {
		return missing
	}
	return errors.Join(EnsureSchedules(ctx, temporal, Schedules(cfg)...), missing)
}

// Await waits until another process has brought the tables up to date, and tells what it waits for.
func Await(ctx context.Context, cfg config.Config, tell func(reason string)) error {
	if err := cfg.RequireDatabase(); err != nil {
		return err
	}
	return migrations.Await(ctx, cfg.Database.URL.Reveal(), tell)
}

// finish does what is no task for SQL: it takes back what events that were given up before there were verdicts have left on
// entities, and encrypts the header values that destinations had in clear.
func finish(ctx context.Context, cfg config.Config) error {
	store, err := OpenStore(ctx, cfg, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	if _, err = store.Writer.EnforceVerdicts(ctx); err != nil {
		return err
	}
	_, err = store.Subscriptions.SealHeaders(ctx)
	return err
}
