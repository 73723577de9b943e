package persistence

import "context"

// Project is project, for its tests.
var Project = project

// Show is a setting of the store's sessions.
func (s *Store) Show(ctx context.Context, setting string) (value string, err error) {
	err = s.pool.QueryRow(ctx, `SELECT current_setting($1)`, setting).Scan(&value)
	return value, err
}
