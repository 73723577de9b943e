package changes

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/feed"
	"holdfast/persistence/postgres"
)

const (
	// behind is how long the first change waits that cannot be read yet.
	behind = `
SELECT coalesce((SELECT extract(epoch FROM clock_timestamp() - at)::float8 FROM changes
                  WHERE xid >= pg_snapshot_xmin(pg_current_snapshot()) ORDER BY xid, seq LIMIT 1), 0)`

	// holders are the oldest transactions that write, in whatever database of the cluster. Of other roles a process is seen, and
	// whether it writes only by who may read statistics.
	holders = `
SELECT pid, coalesce(datname, ''), coalesce(usename, ''), application_name, coalesce(xact_start, now()), ''
  FROM (SELECT * FROM pg_stat_activity WHERE backend_xid IS NOT NULL ORDER BY age(backend_xid) DESC LIMIT 3) AS open
 UNION ALL
SELECT 0, database, owner, '', prepared, gid FROM (SELECT * FROM pg_prepared_xacts ORDER BY prepared LIMIT 3) AS prepared`
)

// FeedBehind is how long the first change waits that cannot be read yet; 0 where none does.
func (s *Store) FeedBehind(ctx context.Context) (time.Duration, error) {
	var seconds float64
	err := s.db.QueryRow(ctx, behind).Scan(&seconds)
	return time.Duration(max(seconds, 0) * float64(time.Second)), postgres.Failure("read lag of changes", err)
}

// FeedLag is how far the feed is behind, and who holds it back.
func (s *Store) FeedLag(ctx context.Context) (l feed.Lag, err error) {
	if l.Behind, err = s.FeedBehind(ctx); err != nil {
		return l, err
	}
	l.Holders, err = pgx.CollectRows(s.db.Rows(ctx, holders), pgx.RowToStructByPos[feed.Holder])
	return l, postgres.Failure("read who holds changes back", err)
}
