package changes

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event/feed"
	"holdfast/persistence/postgres"
)

const (
	// behind is how long the first change that can't be read yet has been waiting.
	behind = `
SELECT coalesce((SELECT extract(epoch FROM clock_timestamp() - at)::float8 FROM changes
                  WHERE xid >= pg_snapshot_xmin(pg_current_snapshot()) ORDER BY xid, seq LIMIT 1), 0)`

	// holders are the oldest transactions that write, in any database of the cluster. Processes of other roles are visible; whether
	// they write is visible only to a role that may read statistics.
	holders = `
SELECT pid, coalesce(datname, ''), coalesce(usename, ''), application_name, coalesce(xact_start, now()), ''
  FROM (SELECT * FROM pg_stat_activity WHERE backend_xid IS NOT NULL ORDER BY age(backend_xid) DESC LIMIT 3) AS open
 UNION ALL
SELECT 0, database, owner, '', prepared, gid FROM (SELECT * FROM pg_prepared_xacts ORDER BY prepared LIMIT 3) AS prepared`
)

// FeedBehind returns how long the first change that can't be read yet has been waiting; 0 if there is none.
func (s *Store) FeedBehind(ctx context.Context) (time.Duration, error) {
	var seconds float64
	err := s.db.QueryRow(ctx, behind).Scan(&seconds)
	return time.Duration(max(seconds, 0) * float64(time.Second)), postgres.Failure("read lag of changes", err)
}

// FeedLag returns how far the feed is behind, and which transactions block it.
func (s *Store) FeedLag(ctx context.Context) (l feed.Lag, err error) {
	if l.Behind, err = s.FeedBehind(ctx); err != nil {
		return l, err
	}
	l.Blockers, err = pgx.CollectRows(s.db.Rows(ctx, holders), pgx.RowToStructByPos[feed.Blocker])
	return l, postgres.Failure("read who holds changes back", err)
}
