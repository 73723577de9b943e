package deadletters

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/postgres"
)

// groupByCause reads only the index of causes, since rows contain bodies.
const groupByCause = `
SELECT provider, step, error_class, error_code, rule,
       coalesce((SELECT name FROM subscriptions AS s WHERE s.id = subscription_id), ''),
       count(*) FILTER (WHERE state = 'open'), count(*) FILTER (WHERE state = 'exhausted'),
       count(*) FILTER (WHERE state = 'redriving'), min(first_failed_at), max(last_failed_at), max(id)
  FROM dead_letters`

const (
	ofCause     = ` GROUP BY provider, step, error_class, error_code, rule, subscription_id`
	worstCauses = ` ORDER BY count(*) DESC, provider, step, error_class, error_code, rule, subscription_id LIMIT $1`
)

// Causes groups the dead letters that are open, exhausted or redriving by why they failed: largest first, up to event.MaxPage. An
// empty provider means all.
func (s *Store) Causes(ctx context.Context, provider string) ([]operation.Cause, error) {
	list := postgres.NewList(groupByCause)
	list.Args = []any{event.MaxPage}
	list.Where("state IN ('open', 'redriving', 'exhausted')")
	list.Equal("provider", provider)
	rows := s.db.Rows(ctx, list.Statement()+ofCause+worstCauses, list.Args...)
	causes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c operation.Cause, err error) {
		err = row.Scan(&c.Provider, &c.Step, &c.Class, &c.Code, &c.Rule, &c.Subscription, &c.Open, &c.Exhausted, &c.Redriving,
			&c.Oldest, &c.Newest, &c.Example)
		c.Oldest, c.Newest = c.Oldest.UTC(), c.Newest.UTC()
		return c, err
	})
	return causes, postgres.Failure("group dead letters", err)
}
