package recoveries

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event/operation"
	"holdfast/persistence/postgres"
)

const (
	// sinceThen reads by the start, and then picks those with a gap.
	sinceThen = ` WHERE started_at > clock_timestamp() - $1::interval AND NOT dry_run
   AND (missed > 0 OR cut = 'reach' AND asked_since IS NULL) ORDER BY started_at DESC, id DESC LIMIT $2`

	notEnded = ` WHERE state IN ('running', 'paused')`

	maxGaps = 500
)

// Health returns what is known about each list, by provider and target.
func (s *Store) Health(ctx context.Context) ([]operation.ListHealth, error) {
	known, err := s.Marks(ctx)
	if err != nil {
		return nil, err
	}
	gaps, err := s.collect(ctx, sinceThen, operation.GapsFor, maxGaps)
	if err != nil {
		return nil, err
	}
	open, err := s.collect(ctx, notEnded)
	if err != nil {
		return nil, err
	}
	all := make([]operation.ListHealth, len(known))
	for i, mark := range known {
		all[i].RecoveryMark = mark
		for _, r := range gaps {
			if r.Provider == mark.Provider && r.Target == mark.Target {
				all[i].Gaps = append(all[i].Gaps, r)
			}
		}
		for _, r := range open {
			if r.Provider == mark.Provider && r.Target == mark.Target && r.State == operation.Paused && r.Problem != "" {
				all[i].Blocked = &r
			}
		}
	}
	return all, nil
}

func (s *Store) collect(ctx context.Context, conditions string, args ...any) ([]operation.Recovery, error) {
	rows := s.DB.Rows(ctx, s.Select("")+conditions, args...)
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (operation.Recovery, error) { return scanRecovery(row) })
	return all, postgres.Failure("read recoveries", err)
}
