package persistence

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// maxAlerts bounds what one message tells of; the next one tells the rest. markAtOnce bounds the rows that one statement
// marks, so that nobody waits long for one of them.
const (
	maxAlerts  = 20_000
	markAtOnce = 1000
)

const (
	pendingDeadLetters = `
SELECT id, failures, failures - notified_failures, provider, error_class, error_code, workflow_id,
       first_failed_at, last_failed_at
  FROM dead_letters
 WHERE notified_failures < failures AND state IN ('open', 'exhausted')
 ORDER BY id LIMIT $1`

	pendingEntries = `
SELECT id, phase, provider, error_class, error_code, count, coalesce(meta ->> 'workflow_id', ''), at
  FROM error_log WHERE alert_pending ORDER BY id LIMIT $1`

	markDeadLetters = `
UPDATE dead_letters AS d SET notified_failures = told.failures
  FROM unnest($1::bigint[], $2::integer[]) AS told (id, failures)
 WHERE d.id = told.id AND d.notified_failures < told.failures`

	markEntries = `UPDATE error_log SET alert_pending = false WHERE id = ANY ($1)`
)

// PendingAlerts is what nobody has been told of yet: failures of dead letters that still wait, and alerts of the error log.
func (s *Store) PendingAlerts(ctx context.Context) ([]event.Alert, error) {
	alerts, err := pgx.CollectRows(s.query(ctx, pendingDeadLetters, maxAlerts), scanDeadLetterAlert)
	if err != nil {
		return nil, failure("read pending alerts", err)
	}
	entries, err := pgx.CollectRows(s.query(ctx, pendingEntries, maxAlerts), scanEntryAlert)
	return append(alerts, entries...), failure("read pending alerts", err)
}

func scanDeadLetterAlert(row pgx.CollectableRow) (a event.Alert, err error) {
	err = row.Scan(&a.DeadLetter, &a.Failures, &a.Count, &a.Provider, &a.Class, &a.Code, &a.Example, &a.First, &a.Last)
	return a, err
}

func scanEntryAlert(row pgx.CollectableRow) (a event.Alert, err error) {
	err = row.Scan(&a.Entry, &a.Phase, &a.Provider, &a.Class, &a.Code, &a.Count, &a.Example, &a.First)
	a.Last = a.First
	return a, err
}

// MarkTold notes that somebody has been told. Failures that have come since are still pending.
func (s *Store) MarkTold(ctx context.Context, alerts []event.Alert) error {
	for chunk := range slices.Chunk(alerts, markAtOnce) {
		var letters, entries []int64
		var failures []int32
		for _, a := range chunk {
			if a.DeadLetter == 0 {
				entries = append(entries, a.Entry)
				continue
			}
			letters, failures = append(letters, a.DeadLetter), append(failures, int32(a.Failures))
		}
		b := &pgx.Batch{}
		b.Queue(markDeadLetters, letters, failures)
		b.Queue(markEntries, entries)
		if err := s.sendOnly(ctx, b); err != nil {
			return failure("mark alerts as told", err)
		}
	}
	return nil
}
