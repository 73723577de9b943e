package read

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/postgres"
)

// reportSlice is the time range that one statement counts, so that no statement takes long even if a week has millions of events.
const reportSlice = 6 * time.Hour

const (
	// The rows of events and deliveries are found by the time at the beginning of the event's ID. Events that could not be parsed
	// have only a dead letter.
	countReceived = `
SELECT provider, count(*) FROM (SELECT provider FROM events WHERE id >= $1::uuid AND id < $2::uuid OFFSET 0) AS e
 GROUP BY provider
 UNION ALL
SELECT provider, count(DISTINCT event_id) FROM (
       SELECT provider, event_id FROM dead_letters AS d
        WHERE event_id >= $1::uuid AND event_id < $2::uuid AND subscription_id = 0
          AND NOT EXISTS (SELECT FROM events WHERE id = d.event_id OFFSET 0) OFFSET 0) AS dead
 GROUP BY provider`

	countRepeated = `
SELECT coalesce(sum(times), 0)::bigint FROM event_duplicates WHERE event_id >= $1::uuid AND event_id < $2::uuid`

	countDelivered = `
SELECT count(*) FILTER (WHERE status = 'delivered'), count(*) FILTER (WHERE status = 'failed')
  FROM deliveries WHERE event_id >= $1::uuid AND event_id < $2::uuid`

	// countFailed uses the index of last failures: the last failure is never earlier than the first.
	countFailed = `
SELECT provider || ' ' || error_class || ' ' || error_code, count(*) FILTER (WHERE first_failed_at >= $2),
       count(*) FILTER (WHERE first_failed_at < $2)
  FROM dead_letters WHERE last_failed_at >= $1 AND first_failed_at >= $1 AND first_failed_at < $3 GROUP BY 1`

	countLogged = `
SELECT coalesce(sum(count) FILTER (WHERE at >= $2), 0)::bigint, coalesce(sum(count) FILTER (WHERE at < $2), 0)::bigint
  FROM error_log WHERE at >= $1 AND at < $3`
)

// Report counts the events of a time range, and of the range of the same length before it. It doesn't count what is pending.
func (s *Store) Report(ctx context.Context, since, until time.Time) (oversight.Report, error) {
	r := oversight.Report{
		Since: since, Until: until, Received: []oversight.Trend{}, Failed: []oversight.Trend{}, Waiting: []oversight.Backlog{},
	}
	before := since.Add(-until.Sub(since))
	for from := before; from.Before(until); {
		to := sliceEnd(from, since, until)
		if err := s.addSlice(ctx, &r, from, to, !from.Before(since)); err != nil {
			return r, postgres.Failure("count events", err)
		}
		from = to
	}
	b := &pgx.Batch{}
	b.Queue(countFailed, before, since, until).Query(func(rows pgx.Rows) (err error) {
		r.Failed, err = pgx.AppendRows(r.Failed, rows, pgx.RowToStructByPos[oversight.Trend])
		return err
	})
	b.Queue(countLogged, before, since, until).QueryRow(func(row pgx.Row) error {
		return row.Scan(&r.Errors.Count, &r.Errors.Before)
	})
	err := s.db.SendRead(ctx, b)
	oversight.SortTrends(r.Received)
	oversight.SortTrends(r.Failed)
	return r, postgres.Failure("count failures", err)
}

// sliceEnd ends slices at the border of the two ranges.
func sliceEnd(from, since, until time.Time) time.Time {
	end := until
	if from.Before(since) {
		end = since
	}
	if to := from.Add(reportSlice); to.Before(end) {
		return to
	}
	return end
}

func (s *Store) addSlice(ctx context.Context, r *oversight.Report, from, to time.Time, isNow bool) error {
	first, end := event.FirstIDAt(from), event.FirstIDAt(to)
	add := func(t *oversight.Trend, n int64) {
		if isNow {
			t.Count += n
		} else {
			t.Before += n
		}
	}
	b := &pgx.Batch{}
	var provider string
	var n int64
	b.Queue(countReceived, first, end).Query(postgres.ForEach([]any{&provider, &n}, func() {
		var t oversight.Trend
		add(&t, n)
		r.Received = oversight.Add(r.Received, provider, t.Count, t.Before)
	}))
	var repeated, delivered, failed int64
	b.Queue(countRepeated, first, end).QueryRow(func(row pgx.Row) error { return row.Scan(&repeated) })
	b.Queue(countDelivered, first, end).QueryRow(func(row pgx.Row) error { return row.Scan(&delivered, &failed) })
	if err := s.db.SendRead(ctx, b); err != nil {
		return err
	}
	add(&r.Repeated, repeated)
	add(&r.Delivered, delivered)
	add(&r.GivenUp, failed)
	return nil
}
