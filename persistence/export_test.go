package persistence

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// OpenWriting is Open with other bounds of the writer.
var OpenWriting = open

// Show returns a setting of the store's sessions.
func (s *Store) Show(ctx context.Context, setting string) (value string, err error) {
	err = s.db.QueryRow(ctx, `SELECT current_setting($1)`, setting).Scan(&value)
	return value, err
}

// CustomPlans returns how often each prepared statement of a session was planned for its values only.
func (s *Store) CustomPlans(ctx context.Context) (map[string]int, error) {
	plans, statement, n := map[string]int{}, "", 0
	rows, err := s.db.Query(ctx, `SELECT statement, custom_plans FROM pg_prepared_statements`)
	if err != nil {
		return nil, err
	}
	_, err = pgx.ForEachRow(rows, []any{&statement, &n}, func() error { plans[statement] = n; return nil })
	return plans, err
}
