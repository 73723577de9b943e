package stores

import (
	"context"
	"errors"

	"holdfast/internal/config"
	"holdfast/migrations"
)

// UpToDate is the message after an installation is prepared.
const UpToDate = "database and namespace are up to date"

// Prepare prepares an installation: the tables, the namespace's search attributes, the schedules. It is idempotent. If Temporal
// refuses to add search attributes, Prepare does the rest and returns an *AttributesError that names the missing ones.
func Prepare(ctx context.Context, cfg config.Config) error {
	if err := cfg.RequireDatabase(); err != nil {
		return err
	}
	if err := migrations.Up(ctx, cfg.Database.URL.Reveal()); err != nil {
		return err
	}
	temporal, err := NewTemporalClient(cfg, nil, nil)
	if err != nil {
		return err
	}
	defer temporal.Close()
	if err := RefuseEarlierNamespace(ctx, temporal, cfg.Temporal.Namespace); err != nil {
		return err
	}
	missing := registerSearchAttributes(ctx, temporal, cfg.Temporal.Namespace)
	var attributes *AttributesError
	if missing != nil && !errors.As(missing, &attributes) {
		return missing
	}
	return errors.Join(EnsureSchedules(ctx, temporal, Schedules(cfg)...), missing)
}

// Await waits until another process has migrated the tables, and reports what it waits for.
func Await(ctx context.Context, cfg config.Config, tell func(reason string)) error {
	if err := cfg.RequireDatabase(); err != nil {
		return err
	}
	return migrations.Await(ctx, cfg.Database.URL.Reveal(), tell)
}
