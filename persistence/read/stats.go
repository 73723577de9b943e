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
  FROM dead_letters WHERE state IN ('open', 'redriving', 'exhausted')
 GROUP BY provider, state, error_class, error_code ORDER BY count(*) DESC, provider, state, error_class, error_code`

	countErrors = `
SELECT phase, provider, error_class, error_code, sum(count)::bigint
  FROM error_log WHERE at >= $1
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
