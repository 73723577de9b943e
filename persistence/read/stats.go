package read

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/inbox"
	"holdfast/persistence/postgres"
)

// The counts of a window read its part of an index, not the table.
const (
	countEvents = `
SELECT provider, status, count(*), count(*) FILTER (WHERE id >= $2::uuid)
  FROM events WHERE id >= $1::uuid GROUP BY provider, status ORDER BY provider, status`

	countWaiting = `
SELECT provider, state, error_class, error_code, count(*), min(first_failed_at)
  FROM dead_letters WHERE state IN ('open', 'replaying', 'exhausted')
 GROUP BY provider, state, error_class, error_code ORDER BY count(*) DESC, provider, state, error_class, error_code`

	countErrors = `
SELECT phase, provider, error_class, error_code, sum(count)::bigint
  FROM (SELECT phase, provider, error_class, error_code, count FROM error_log WHERE at >= $1 OFFSET 0) AS recent
 GROUP BY phase, provider, error_class, error_code ORDER BY sum(count) DESC, phase, provider, error_class, error_code
 LIMIT 100`
)

// Stats counts the events of a window that ends now. It doesn't count queues.
func (s *Store) Stats(ctx context.Context, window time.Duration) (oversight.Stats, error) {
	now := time.Now().UTC()
	stats := oversight.Stats{
		At: now, Window: event.Duration(window),
		Events: []oversight.EventCount{}, DeadLetters: []oversight.DeadLetterCount{}, Errors: []oversight.ErrorCount{},
		Inbox: []oversight.InboxCount{},
	}
	b := &pgx.Batch{}
	queueEventCounts(b, &stats)
	b.Queue(countWaiting).Query(func(rows pgx.Rows) (err error) {
		stats.DeadLetters, err = pgx.AppendRows(stats.DeadLetters, rows, pgx.RowToStructByPos[oversight.DeadLetterCount])
		return err
	})
	b.Queue(inbox.CountByLane).Query(func(rows pgx.Rows) (err error) {
		stats.Inbox, err = pgx.AppendRows(stats.Inbox, rows, pgx.RowToStructByPos[oversight.InboxCount])
		return err
	})
	b.Queue(countErrors, now.Add(-window)).Query(func(rows pgx.Rows) (err error) {
		stats.Errors, err = pgx.AppendRows(stats.Errors, rows, pgx.RowToStructByPos[oversight.ErrorCount])
		return err
	})
	return stats, postgres.Failure("count events", s.db.SendRead(ctx, b))
}

func queueEventCounts(b *pgx.Batch, stats *oversight.Stats) {
	window := time.Duration(stats.Window)
	recent := min(window, time.Minute)
	b.Queue(countEvents, event.FirstIDAt(stats.At.Add(-window)), event.FirstIDAt(stats.At.Add(-recent))).
		Query(func(rows pgx.Rows) error {
			var total, last int64
			var row oversight.EventCount
			var late int64
			_, err := pgx.ForEachRow(rows, []any{&row.Provider, &row.Status, &row.Count, &late}, func() error {
				stats.Events = append(stats.Events, row)
				total, last = total+row.Count, last+late
				return nil
			})
			stats.PerSecond, stats.Recent = float64(total)/window.Seconds(), float64(last)/recent.Seconds()
			return err
		})
}

// Each step of the recursion looks up the next source in the index, so that the number of events doesn't matter.
const sourcesOf = `
WITH RECURSIVE stored (source) AS (
       (SELECT e.source FROM events AS e WHERE e.provider = $1 AND e.source <> '' ORDER BY e.source LIMIT 1)
        UNION ALL
       SELECT (SELECT e.source FROM events AS e
                WHERE e.provider = $1 AND e.source <> '' AND e.source > stored.source ORDER BY e.source LIMIT 1)
         FROM stored WHERE stored.source IS NOT NULL),
     dead (source) AS (
       (SELECT d.source FROM dead_letters AS d WHERE d.provider = $1 AND d.source <> '' ORDER BY d.source LIMIT 1)
        UNION ALL
       SELECT (SELECT d.source FROM dead_letters AS d
                WHERE d.provider = $1 AND d.source <> '' AND d.source > dead.source ORDER BY d.source LIMIT 1)
         FROM dead WHERE dead.source IS NOT NULL)
(SELECT source FROM stored WHERE source IS NOT NULL LIMIT $2)
 UNION
(SELECT source FROM dead WHERE source IS NOT NULL LIMIT $2)`

// SourcesOf returns the sources of a provider in events and dead letters: the first by name, up to limit, without "".
func (s *Store) SourcesOf(ctx context.Context, provider string, limit int) ([]string, error) {
	all, err := pgx.CollectRows(s.db.Rows(ctx, sourcesOf, postgres.Clean(provider), limit), pgx.RowTo[string])
	return all, postgres.Failure("list sources of "+postgres.Clean(provider), err)
}
