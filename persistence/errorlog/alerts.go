package errorlog

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event/oversight"
	"holdfast/persistence/postgres"
)

// maxAlerts bounds the alerts of one message; the next one has the rest. markAtOnce bounds the rows that one statement marks, so
// that its row locks are short.
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
UPDATE dead_letters SET notified_failures = ` + valueOfID + `
 WHERE id = ANY ($1::bigint[]) AND notified_failures < ` + valueOfID

	markEntries = `UPDATE error_log SET alert_pending = false WHERE id = ANY ($1)`

	insertClaim = `
INSERT INTO notification_claims (dead_letters, notified_before, entries)
VALUES ($1::bigint[], $2::integer[], $3::bigint[]) RETURNING id`

	deleteClaim = `DELETE FROM notification_claims WHERE id = $1`

	// oldClaims selects abandoned claims.
	oldClaims = `
SELECT id, dead_letters, notified_before, entries FROM notification_claims
 WHERE claimed_at < now() - $1::interval ORDER BY id`

	unmarkDeadLetters = `
UPDATE dead_letters SET notified_failures = ` + valueOfID + `
 WHERE id = ANY ($1::bigint[]) AND notified_failures > ` + valueOfID

	// valueOfID is the element of $2 at the index of the ID in $1.
	valueOfID = `($2::integer[])[array_position($1::bigint[], id)]`

	unmarkEntries = `UPDATE error_log SET alert_pending = true WHERE id = ANY ($1)`
)

// claimFor is longer than a round can take.
const claimFor = 6 * time.Minute

// ClaimAlerts claims what has not been reported yet: failures of open dead letters, and alerts of the error log. They count as
// reported from now on; SettleAlerts confirms or undoes that. Abandoned claims are claimed again.
func (s *Store) ClaimAlerts(ctx context.Context) (claim int64, alerts []oversight.Alert, err error) {
	claim, alerts, err = s.claimAlerts(ctx)
	return claim, alerts, postgres.Failure("claim alerts", err)
}

func (s *Store) claimAlerts(ctx context.Context) (claim int64, alerts []oversight.Alert, err error) {
	if err := s.giveBackOld(ctx); err != nil {
		return 0, nil, err
	}
	if alerts, err = s.pendingAlerts(ctx); err != nil || len(alerts) == 0 {
		return 0, nil, err
	}
	before := marksBefore(alerts)
	if err := s.db.QueryRow(ctx, insertClaim, before.letters, before.reported, before.entries).Scan(&claim); err != nil {
		return 0, nil, err
	}
	now := marksBefore(alerts)
	for i := range now.letters {
		now.reported[i] = int32(alerts[i].Failures) // dead letters come first
	}
	if err := s.mark(ctx, now, markDeadLetters, markEntries); err != nil {
		return 0, nil, errors.Join(err, s.giveBack(ctx, claim, before))
	}
	return claim, alerts, nil
}

// SettleAlerts ends a claim: if the alerts were not reported, the next claim returns them again.
func (s *Store) SettleAlerts(ctx context.Context, claim int64, alerts []oversight.Alert, reported bool) error {
	const doing = "settle alerts"
	if !reported {
		return postgres.Failure(doing, s.giveBack(ctx, claim, marksBefore(alerts)))
	}
	_, err := s.db.Exec(ctx, deleteClaim, claim)
	return postgres.Failure(doing, err)
}

// marks holds how many failures of each dead letter count as reported, and the reported rows of the error log.
type marks struct {
	letters  []int64
	reported []int32
	entries  []int64
}

// marksBefore returns the marks as they were before the alerts were claimed.
func marksBefore(alerts []oversight.Alert) marks {
	m := marks{letters: []int64{}, reported: []int32{}, entries: []int64{}} // an empty array, not NULL
	for _, a := range alerts {
		if a.DeadLetter == 0 {
			m.entries = append(m.entries, a.Entry)
			continue
		}
		m.letters, m.reported = append(m.letters, a.DeadLetter), append(m.reported, int32(int64(a.Failures)-a.Count))
	}
	return m
}

func (s *Store) giveBackOld(ctx context.Context) error {
	var claim int64
	var before marks
	old := map[int64]marks{}
	columns := []any{&claim, &before.letters, &before.reported, &before.entries}
	_, err := pgx.ForEachRow(s.db.Rows(ctx, oldClaims, claimFor), columns, func() error {
		old[claim] = before
		before = marks{}
		return nil
	})
	for claim, before := range old {
		err = errors.Join(err, s.giveBack(ctx, claim, before))
	}
	return err
}

// giveBack makes the alerts of a claim pending again.
func (s *Store) giveBack(ctx context.Context, claim int64, before marks) error {
	if err := s.mark(ctx, before, unmarkDeadLetters, unmarkEntries); err != nil {
		return err
	}
	_, err := s.db.Exec(ctx, deleteClaim, claim)
	return err
}

func (s *Store) mark(ctx context.Context, m marks, letters, entries string) error {
	for from := 0; from < max(len(m.letters), len(m.entries)); from += markAtOnce {
		b := &pgx.Batch{}
		b.Queue(letters, part(m.letters, from), part(m.reported, from))
		b.Queue(entries, part(m.entries, from))
		if err := s.db.SendOnly(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func part[T any](all []T, from int) []T {
	from = min(from, len(all))
	return all[from:min(from+markAtOnce, len(all))]
}

func (s *Store) pendingAlerts(ctx context.Context) ([]oversight.Alert, error) {
	alerts, err := pgx.CollectRows(s.db.Rows(ctx, pendingDeadLetters, maxAlerts), scanDeadLetterAlert)
	if err != nil {
		return nil, err
	}
	entries, err := pgx.CollectRows(s.db.Rows(ctx, pendingEntries, maxAlerts), scanEntryAlert)
	return append(alerts, entries...), err
}

func scanDeadLetterAlert(row pgx.CollectableRow) (a oversight.Alert, err error) {
	err = row.Scan(&a.DeadLetter, &a.Failures, &a.Count, &a.Provider, &a.Class, &a.Code, &a.Example, &a.First, &a.Last)
	return a, err
}

func scanEntryAlert(row pgx.CollectableRow) (a oversight.Alert, err error) {
	err = row.Scan(&a.Entry, &a.Phase, &a.Provider, &a.Class, &a.Code, &a.Count, &a.Example, &a.First)
	a.Last = a.First
	return a, err
}
