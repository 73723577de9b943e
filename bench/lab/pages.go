package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"syscall"
)

// CountingPages returns the profile with a server that can count the pages that each statement reads: see Lab.CountPages.
func (p Profile) CountingPages() Profile {
	p.Postgres = maps.Clone(p.Postgres)
	maps.Copy(p.Postgres, map[string]string{
		"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "none", "compute_query_id": "off",
	})
	return p
}

// CountPages begins to count the pages that statements on a database read, for connections that are opened from now on.
func (l *Lab) CountPages(ctx context.Context, database string) error {
	return errors.Join(
		l.Exec(ctx, "postgres", `CREATE EXTENSION IF NOT EXISTS pg_stat_statements`),
		l.Exec(ctx, database, fmt.Sprintf(`ALTER DATABASE %[1]s SET compute_query_id = on;
			ALTER DATABASE %[1]s SET pg_stat_statements.track = 'top'`, database)),
	)
}

// Pages returns how many pages the counted statements on a database have read, from the cache or the disk.
func (l *Lab) Pages(ctx context.Context, database string) (n int64, err error) {
	err = l.ask(ctx, &n, `
SELECT coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint FROM pg_stat_statements
 WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1)`, database)
	return n, err
}

// FreeBytes returns how much more the file system of a directory can hold.
func FreeBytes(dir string) (int64, error) {
	var of syscall.Statfs_t
	err := syscall.Statfs(dir, &of)
	return int64(of.Bavail) * int64(of.Bsize), err //nolint:unconvert // the types differ between systems
}
